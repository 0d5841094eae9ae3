package plural_test

import (
	"fmt"

	"github.com/ridethrough/ridethrough/internal/plural"
)

func ExampleCount() {
	for n := range 3 {
		fmt.Println(plural.Count(n, "try", "tries"))
	}
	// Output:
	// 0 tries
	// 1 try
	// 2 tries
}
