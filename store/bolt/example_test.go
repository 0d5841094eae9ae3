package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
)

// The next process that opens the directory finds what was stored.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer func() { _ = bolt.Remove(dir) }()
	ctx := context.Background()

	s, err := bolt.Open(ctx, bolt.Config{Dir: dir, Reserve: 1})
	if err != nil {
		panic(err)
	}
	_, _ = s.Append(ctx, "c1", store.Position{}, store.Record{Type: "user-message"})
	_ = s.Close(ctx)

	s, err = bolt.Open(ctx, bolt.Config{Dir: dir, Reserve: 1})
	if err != nil {
		panic(err)
	}
	end, err := s.End(ctx, "c1")
	fmt.Println(end.N, err, bolt.Exists(dir))
	_ = s.Close(ctx)
	// Output: 1 <nil> true
}

func ExampleRemove() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	s, err := bolt.Open(context.Background(), bolt.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	fmt.Println(errors.Is(bolt.Remove(dir), store.ErrInUse))
	_ = s.Close(context.Background())
	fmt.Println(bolt.Remove(dir))
	// Output:
	// true
	// <nil>
}

func ExampleCheck() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer func() { _ = bolt.Remove(dir) }()
	s, err := bolt.Open(context.Background(), bolt.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	_ = s.Close(context.Background())
	problems, err := bolt.Check(dir)
	fmt.Println(len(problems), err)
	// Output: 0 <nil>
}
