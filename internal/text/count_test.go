package text_test

import (
	"fmt"

	"github.com/ridethrough/ridethrough/internal/text"
)

func ExampleCount() {
	for n := range 3 {
		fmt.Println(text.Count(n, "try", "tries"))
	}
	// Output:
	// 0 tries
	// 1 try
	// 2 tries
}
