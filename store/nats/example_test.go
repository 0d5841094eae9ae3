package nats_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
)

// The servers are the user's: without them there is no store.
func ExampleDial() {
	_, err := nats.Dial(context.Background(), nats.Remote{URL: "nats://127.0.0.1:1"})
	fmt.Println(errors.Is(err, store.ErrUnavailable))
	// Output: true
}
