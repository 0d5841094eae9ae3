package background_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
)

// A store that takes long to open does not keep its user waiting.
func ExampleOpen() {
	ready := make(chan struct{})
	s := background.Open(func(context.Context) (store.Store, error) {
		<-ready
		return store.Memory(), nil
	}, slog.New(slog.DiscardHandler))
	ctx := context.Background()
	defer func() { _ = s.Close(ctx) }()

	_, err := s.Health(ctx)
	fmt.Println(errors.Is(err, store.ErrNotOpen))
	close(ready)
	fmt.Println(s.Wait(ctx))
	end, err := s.End(ctx, "c1")
	fmt.Println(end.N, err)
	// Output:
	// true
	// <nil>
	// 0 <nil>
}
