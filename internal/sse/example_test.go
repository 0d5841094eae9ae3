package sse_test

import (
	"fmt"

	"github.com/ridethrough/ridethrough/internal/sse"
)

func ExampleCut() {
	stream := []byte(": hold\r\revent: greeting\r\ndata: Hi\n\n")
	for n := sse.Cut(stream, 0); n > 0; n = sse.Cut(stream, 0) {
		name, data := sse.Parse(stream[:n])
		fmt.Printf("%q %q\n", name, data)
		stream = stream[n:]
	}
	// Output:
	// "" ""
	// "greeting" "Hi"
}
