package peer_test

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

func ExampleScene() {
	model := peer.Scene{Kind: peer.Stream, Chunks: 50, Every: 20 * time.Millisecond}.String()
	s, err := peer.ParseScene(model)
	fmt.Println(model, s.Chunks, s.Every, err)
	// Output: bench-stream-50-20000 50 20ms <nil>
}
