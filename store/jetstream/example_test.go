package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer func() { _ = jetstream.Remove(dir) }()
	ctx := context.Background()

	s, err := jetstream.Open(ctx, jetstream.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	_, _ = s.Append(ctx, "c1", store.Position{}, store.Record{Type: "user-message"})
	_ = s.Close(ctx)

	s, err = jetstream.Open(ctx, jetstream.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	end, err := s.End(ctx, "c1")
	fmt.Println(end.N, err, jetstream.Exists(dir))
	_ = s.Close(ctx)
	// Output: 1 <nil> true
}

func ExampleRemove() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	s, err := jetstream.Open(context.Background(), jetstream.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	fmt.Println(errors.Is(jetstream.Remove(dir), store.ErrInUse))
	_ = s.Close(context.Background())
	fmt.Println(jetstream.Remove(dir))
	// Output:
	// true
	// <nil>
}
