package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// Two writers append at the same end. The second must read again.
func ExampleLog() {
	ctx, s := context.Background(), store.Memory()
	defer func() { _ = s.Close(ctx) }()

	message := store.Record{Type: "user-message", Time: time.Unix(0, 0), Body: json.RawMessage(`{"text":"hello"}`)}
	end, err := s.Append(ctx, "c1", store.Position{}, message)
	fmt.Println(end.N, err)
	_, err = s.Append(ctx, "c1", store.Position{}, message)
	fmt.Println(errors.Is(err, store.ErrConflict))
	for r, err := range s.Read(ctx, "c1", 0) {
		fmt.Println(r.N, r.Type, string(r.Body), err)
	}
	// Output:
	// 1 <nil>
	// true
	// 1 user-message {"text":"hello"} <nil>
}

func ExampleLoad() {
	ctx, s := context.Background(), store.Memory()
	defer func() { _ = s.Close(ctx) }()

	_, _ = s.Append(ctx, "c1", store.Position{}, store.Record{Type: "turn-start"}, store.Record{Type: "usage"})
	records, end, _ := store.Load(ctx, s, "c1", 0)
	end, err := s.Append(ctx, "c1", end, store.Record{Type: "turn-sealed"})
	fmt.Println(len(records), end.N, err)
	// Output: 2 3 <nil>
}

// A worker schedules the next try of a turn. Any worker gets it.
func ExampleQueue() {
	ctx, s := context.Background(), store.Memory()
	defer func() { _ = s.Close(ctx) }()

	_ = s.Enqueue(ctx, store.Job{Conversation: "c1", Turn: "t1"})
	lease, _ := s.Take(ctx)
	fmt.Println(lease.Job().Turn)
	_ = s.Schedule(ctx, store.Job{Conversation: "c1", Turn: "t1", Body: json.RawMessage(`{"attempt":1}`)}, time.Now().Add(time.Millisecond))
	_ = lease.Ack()

	lease, _ = s.Take(ctx)
	fmt.Println(lease.Job().Turn, string(lease.Job().Body))
	_ = lease.Ack()
	// Output:
	// t1
	// t1 {"attempt":1}
}

func ExamplePubSub() {
	ctx, s := context.Background(), store.Memory()
	defer func() { _ = s.Close(ctx) }()

	messages, _ := s.Subscribe(ctx, "c1")
	_ = s.Publish(ctx, "c1", []byte("a piece of an answer"))
	_, _ = s.Append(ctx, "c1", store.Position{}, store.Record{Type: "assistant-message"})
	fmt.Println(string((<-messages).Data))
	fmt.Println((<-messages).Records[0].Type)
	// Output:
	// a piece of an answer
	// assistant-message
}

// One of all nodes becomes the owner of the probe.
func ExampleKV() {
	ctx, s := context.Background(), store.Memory()
	defer func() { _ = s.Close(ctx) }()

	for _, node := range []string{"a", "b"} {
		_, err := s.Put(ctx, store.Entry{Key: "acme.large.probe", Value: []byte(node)}, time.Minute)
		fmt.Println(node, err)
	}
	// Output:
	// a <nil>
	// b conflicting write
}
