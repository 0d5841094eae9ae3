package main_test

import (
	"fmt"
	"strings"

	main "github.com/ridethrough/ridethrough/bench"
)

func ExampleParseSize() {
	bytes, err := main.ParseSize([]byte("Rss:   1744 kB\nPss:    315 kB\n"), "Pss")
	fmt.Println(bytes, err)
	// Output: 322560 <nil>
}

func ExampleParseSockets() {
	const table = "1: 0100007F:2124 0100007F:C350 01 00000000:00001000 00:00000000"
	s, err := main.ParseSockets(strings.NewReader(table), 8484)
	fmt.Println(s.Open, s.Unread, err)
	// Output: 1 4096 <nil>
}
