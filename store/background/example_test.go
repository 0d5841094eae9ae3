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

// unused is a reservation of a store in which nothing has been stored.
type unused struct{}

func (unused) Unused() bool { return true }

func (unused) Open(context.Context) (store.Store, error) {
	fmt.Println("opened")
	return store.Memory(), nil
}

func (unused) Health(context.Context) (store.Health, error) { return store.Health{}, nil }

func (unused) Close(context.Context) error { return nil }

// A store in which nothing has been stored is read without being opened.
func ExampleOpenWhenUsed() {
	reserve := func(context.Context) (background.Reservation, error) { return unused{}, nil }
	s := background.OpenWhenUsed(reserve, slog.New(slog.DiscardHandler))
	ctx := context.Background()
	defer func() { _ = s.Close(ctx) }()

	end, err := s.End(ctx, "c1")
	fmt.Println(end.N, err)
	end, err = s.Append(ctx, "c1", end, store.Record{Type: "user-message"})
	fmt.Println(end.N, err)
	// Output:
	// 0 <nil>
	// opened
	// 1 <nil>
}
