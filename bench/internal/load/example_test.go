package load_test

import (
	"fmt"

	"github.com/ridethrough/ridethrough/bench/internal/load"
)

func ExampleBook() {
	b := load.NewBook(1)
	r := b.Request("127.0.0.1:8484", load.Ask{Scene: "bench-answer", Size: 1024})
	fmt.Println(len(b.Text(200)), len(r.Next()) > 1024)
	// Output: 200 true
}
