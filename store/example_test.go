package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// Two writers read the same end; the second must read again.
func ExampleLog() {
	ctx, e := context.Background(), store.Memory()
	defer func() { _ = e.Close(ctx) }()

	said := store.Record{Type: "user-message", Time: time.Unix(0, 0), Body: json.RawMessage(`{"text":"hello"}`)}
	end, err := e.Append(ctx, "c1", store.Position{}, said)
	fmt.Println(end.N, err)
	_, err = e.Append(ctx, "c1", store.Position{}, said)
	fmt.Println(errors.Is(err, store.ErrConflict))
	for r, err := range e.Read(ctx, "c1", 0) {
		fmt.Println(r.N, r.Type, string(r.Body), err)
	}
	// Output:
	// 1 <nil>
	// true
	// 1 user-message {"text":"hello"} <nil>
}

func ExampleLoad() {
	ctx, e := context.Background(), store.Memory()
	defer func() { _ = e.Close(ctx) }()

	_, _ = e.Append(ctx, "c1", store.Position{}, store.Record{Type: "turn-start"}, store.Record{Type: "usage"})
	records, end, _ := store.Load(ctx, e, "c1", 0)
	end, err := e.Append(ctx, "c1", end, store.Record{Type: "turn-sealed"})
	fmt.Println(len(records), end.N, err)
	// Output: 2 3 <nil>
}

// A turn is parked by its worker and comes back, to any worker.
func ExampleQueue() {
	ctx, e := context.Background(), store.Memory()
	defer func() { _ = e.Close(ctx) }()

	_ = e.Enqueue(ctx, store.Job{Conversation: "c1", Turn: "t1", Key: "accepted"})
	claim, _ := e.Take(ctx)
	fmt.Println(claim.Job().Turn)
	_ = e.Schedule(ctx, store.Job{Conversation: "c1", Turn: "t1", Body: json.RawMessage(`{"attempt":1}`)}, time.Now().Add(time.Millisecond))
	_ = claim.Done()

	claim, _ = e.Take(ctx)
	fmt.Println(claim.Job().Turn, string(claim.Job().Body))
	_ = claim.Done()
	// Output:
	// t1
	// t1 {"attempt":1}
}

func ExamplePubSub() {
	ctx, e := context.Background(), store.Memory()
	defer func() { _ = e.Close(ctx) }()

	heard, _ := e.Subscribe(ctx, "c1")
	_ = e.Publish(ctx, "c1", []byte("a piece of an answer"))
	_, _ = e.Append(ctx, "c1", store.Position{}, store.Record{Type: "assistant-message"})
	fmt.Println(string((<-heard).Data))
	fmt.Println((<-heard).Records[0].Type)
	// Output:
	// a piece of an answer
	// assistant-message
}

// Of all nodes, one may ask whether the upstream is back.
func ExampleKV() {
	ctx, e := context.Background(), store.Memory()
	defer func() { _ = e.Close(ctx) }()

	for _, node := range []string{"a", "b"} {
		_, err := e.Put(ctx, store.Entry{Key: "acme.large.probe", Value: []byte(node)}, time.Minute)
		fmt.Println(node, err)
	}
	// Output:
	// a <nil>
	// b somebody else was first
}

func ExampleRemove() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	e, err := store.Open(context.Background(), store.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	fmt.Println(errors.Is(store.Remove(dir), store.ErrInUse))
	_ = e.Close(context.Background())
	fmt.Println(store.Remove(dir))
	// Output:
	// true
	// <nil>
}
