package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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

// A file of the store ends in the middle of a message, as after a disk has failed.
func ExampleInspect() {
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

	file := filepath.Join(dir, "store/jetstream/$G/streams/CONVERSATIONS/msgs/1.blk")
	_ = os.Truncate(file, 100)
	i, err := jetstream.Inspect(ctx, dir)
	fmt.Println(i.Losses[0].Conversation, i.Losses[0].Messages, i.Damaged[0] == file, err)
	// Output: c1 1 true <nil>
}

// A directory is locked before it is known whether a server is needed.
func ExampleReserve() {
	dir, err := os.MkdirTemp("", "store-*")
	if err != nil {
		panic(err)
	}
	defer func() { _ = jetstream.Remove(dir) }()
	ctx := context.Background()
	r, err := jetstream.Reserve(jetstream.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Unused())
	s, err := r.Open(ctx)
	if err != nil {
		panic(err)
	}
	_, err = s.Append(ctx, "c1", store.Position{}, store.Record{Type: "user-message"})
	fmt.Println(err, s.Close(ctx))
	if r, err = jetstream.Reserve(jetstream.Config{Dir: dir}); err != nil {
		panic(err)
	}
	fmt.Println(r.Unused(), r.Close(ctx))
	// Output:
	// true
	// <nil> <nil>
	// false <nil>
}
