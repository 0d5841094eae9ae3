package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

var closeCases = map[string]func(*testing.T, Subject){
	"close ends operations in progress and refuses others": func(t *testing.T, s Subject) {
		messages := Subscribe(t, t.Context(), s, "c1")
		Append(t, s, "c1", store.Position{}, "a")
		receive(t, messages)
		Enqueue(t, s, Job("t1"))
		l := Take(t, s)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_, err := s.Take(t.Context())
			WantError(t, "take", err, store.ErrClosed)
		})
		waiting.Go(func() {
			for _, err := range s.Watch(t.Context(), "") {
				WantError(t, "watch", err, store.ErrClosed)
			}
		})
		for range 2 {
			if err := s.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		waiting.Wait()
		for m := range messages {
			t.Errorf("received %v", m)
		}
		wantClosed(t, s, l)
	},
}

// wantClosed checks that every method fails with ErrClosed.
func wantClosed(t *testing.T, s Subject, l store.Lease) {
	ctx := t.Context()
	_, err := s.Append(ctx, "c1", store.Position{}, Records("a")...)
	WantError(t, "append", err, store.ErrClosed)
	_, err = s.End(ctx, "c1")
	WantError(t, "end", err, store.ErrClosed)
	for _, err := range s.Read(ctx, "c1", 0) {
		WantError(t, "read", err, store.ErrClosed)
	}
	for _, err := range s.Conversations(ctx, "") {
		WantError(t, "conversations", err, store.ErrClosed)
	}
	WantError(t, "delete", s.Delete(ctx, "c1"), store.ErrClosed)
	WantError(t, "enqueue", s.Enqueue(ctx, Job("t1")), store.ErrClosed)
	WantError(t, "schedule", s.Schedule(ctx, Job("t1"), time.Now()), store.ErrClosed)
	WantError(t, "unschedule", s.Unschedule(ctx, "t1"), store.ErrClosed)
	WantError(t, "publish", s.Publish(ctx, "c1", nil), store.ErrClosed)
	_, err = s.Subscribe(ctx, "c1")
	WantError(t, "subscribe", err, store.ErrClosed)
	_, err = s.Get(ctx, "a")
	WantError(t, "get", err, store.ErrClosed)
	_, err = s.Put(ctx, store.Entry{Key: "a"}, 0)
	WantError(t, "put", err, store.ErrClosed)
	_, err = s.Health(ctx)
	WantError(t, "health", err, store.ErrClosed)
	if err := s.Snapshot(ctx, nil); !errors.Is(err, errors.ErrUnsupported) {
		WantError(t, "snapshot", err, store.ErrClosed)
	}
	WantError(t, "extend", l.Extend(), store.ErrClosed)
	WantError(t, "ack", l.Ack(), store.ErrClosed)
	WantError(t, "nack", l.Nack(0), store.ErrClosed)
}
