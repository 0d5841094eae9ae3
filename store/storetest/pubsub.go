package storetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store"
)

// say publishes something.
func say(t *testing.T, s Subject, topic, text string) {
	t.Helper()
	if err := s.Publish(t.Context(), topic, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

var pubSubCases = map[string]func(*testing.T, Subject){
	"subscribers receive publications and appends": func(t *testing.T, s Subject) {
		say(t, s, "c1", "before")
		heard, also := Subscribe(t, t.Context(), s, "c1"), Subscribe(t, t.Context(), s, "c1")
		say(t, s, "c2", "elsewhere")
		say(t, s, "c1", "hello")
		at := Append(t, s, "c1", store.Position{}, "a", "b")
		large := strings.Repeat("large ", 60<<10)
		at = Append(t, s, "c1", at, large)
		say(t, s, "c1", "bye")
		for _, ch := range []<-chan store.Message{heard, also} {
			for _, want := range []store.Message{
				{Data: []byte("hello")},
				{Records: Numbered(1, "a", "b")},
				{Records: Numbered(3, large)},
				{Data: []byte("bye")},
			} {
				if diff := cmp.Diff(want, Receive(t, ch), bodies); diff != "" {
					t.Error(diff)
				}
			}
		}
		_, err := s.Append(t.Context(), "c1", store.Position{}, Records("x")...)
		WantError(t, "late", err, store.ErrConflict)
		Append(t, s, "c1", at, "c")
		if diff := cmp.Diff(store.Message{Records: Numbered(4, "c")}, Receive(t, heard)); diff != "" {
			t.Error(diff)
		}
	},
	"a slow subscriber loses the oldest messages and sees a gap": func(t *testing.T, s Subject) {
		heard, quick := Subscribe(t, t.Context(), s, "c1"), Subscribe(t, t.Context(), s, "c1")
		for _, text := range names("text", 999) {
			say(t, s, "c1", text)
			Receive(t, quick)
		}
		say(t, s, "c1", "last")
		lost, got := false, 0
		for {
			h := Receive(t, heard)
			lost = lost || h.Gap
			if got++; string(h.Data) == "last" {
				break
			}
		}
		if !lost || got == 1000 {
			t.Errorf("heard %d, lost: %v", got, lost)
		}
		say(t, s, "c1", "after")
		if diff := cmp.Diff(store.Message{Data: []byte("after")}, Receive(t, heard)); diff != "" {
			t.Error(diff)
		}
	},
	"a canceled subscription receives nothing": func(t *testing.T, s Subject) {
		ctx, leave := context.WithCancel(t.Context())
		heard := Subscribe(t, ctx, s, "c1")
		leave()
		for range heard {
			t.Error("heard something")
		}
		say(t, s, "c1", "hello")
	},
	"invalid publications are refused": func(t *testing.T, s Subject) {
		WantError(t, "topic", s.Publish(t.Context(), "a b", nil), store.ErrInvalid)
		WantError(t, "size", s.Publish(t.Context(), "a", bytes.Repeat([]byte("a"), 600<<10)), store.ErrTooLarge)
		_, err := s.Subscribe(t.Context(), ">")
		WantError(t, "listen", err, store.ErrInvalid)
	},
}

// put puts a fact that must be taken.
func put(t *testing.T, s Subject, f store.Entry, life time.Duration) store.Entry {
	t.Helper()
	f, err := s.Put(t.Context(), f, life)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// get gets a fact.
func get(t *testing.T, s Subject, key string) store.Entry {
	t.Helper()
	f, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var kvCases = map[string]func(*testing.T, Subject){
	"an entry has the value that was put last": func(t *testing.T, s Subject) {
		if f := get(t, s, "a.b"); f.Value != nil || f.Key != "a.b" {
			t.Error(f)
		}
		first := put(t, s, store.Entry{Key: "a.b", Value: []byte("1")}, 0)
		put(t, s, store.Entry{Key: "a.c", Value: []byte("other")}, time.Hour)
		second := put(t, s, store.Entry{Key: "a.b", Value: []byte("2"), Revision: first.Revision}, time.Hour)
		if diff := cmp.Diff(second, get(t, s, "a.b")); diff != "" || string(second.Value) != "2" {
			t.Error(diff)
		}
		for _, version := range []uint64{0, first.Revision, 999} {
			_, err := s.Put(t.Context(), store.Entry{Key: "a.b", Value: []byte("3"), Revision: version}, 0)
			WantError(t, "put", err, store.ErrConflict)
		}
	},
	"a deleted entry can be created again": func(t *testing.T, s Subject) {
		first := put(t, s, store.Entry{Key: "a", Value: []byte("1")}, 0)
		put(t, s, store.Entry{Key: "a", Revision: first.Revision}, 0)
		if f := get(t, s, "a"); f.Value != nil {
			t.Error(f)
		}
		put(t, s, store.Entry{Key: "a", Value: []byte("2")}, 0)
	},
	"an entry expires after its ttl": func(t *testing.T, s Subject) {
		began := time.Now()
		put(t, s, store.Entry{Key: "a", Value: []byte("1")}, time.Second)
		for f, err := range s.Watch(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Value == nil {
				break
			}
		}
		if lived := time.Since(began); lived < time.Second-time.Second/20 {
			t.Errorf("it ended after %v", lived)
		}
		if f := get(t, s, "a"); f.Value != nil {
			t.Error(f)
		}
		put(t, s, store.Entry{Key: "a", Value: []byte("2")}, time.Second)
	},
	"one of many creates an entry": func(t *testing.T, s Subject) {
		var all sync.WaitGroup
		owners := make(chan string, 8)
		for _, name := range names("n", 8) {
			all.Go(func() {
				_, err := s.Put(t.Context(), store.Entry{Key: "probe", Value: []byte(name)}, time.Minute)
				if err == nil {
					owners <- name
				} else if !errors.Is(err, store.ErrConflict) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if owner := <-owners; len(owners) > 0 || string(get(t, s, "probe").Value) != owner {
			t.Error(owner)
		}
	},
	"a watcher sees entries and their changes": func(t *testing.T, s Subject) {
		put(t, s, store.Entry{Key: "a", Value: []byte("1")}, 0)
		ctx, enough := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("late"))
		defer enough()
		var seen []string
		for f, err := range s.Watch(ctx) {
			if err != nil {
				t.Fatal(seen, err)
			}
			seen = append(seen, f.Key+"="+string(f.Value))
			switch len(seen) {
			case 1:
				put(t, s, store.Entry{Key: "b", Value: []byte("2")}, 0)
			case 2:
				put(t, s, store.Entry{Key: "b", Value: []byte("3"), Revision: f.Revision}, 0)
			case 3:
				put(t, s, store.Entry{Key: "b", Revision: f.Revision}, 0)
			}
			if len(seen) == 4 {
				break
			}
		}
		if diff := cmp.Diff([]string{"a=1", "b=2", "b=3", "b="}, seen); diff != "" {
			t.Error(diff)
		}
	},
	"a watch ends with the cause of its context": func(t *testing.T, s Subject) {
		why := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		defer leave(nil)
		put(t, s, store.Entry{Key: "a", Value: []byte("1")}, 0)
		var last error
		for _, err := range s.Watch(ctx) {
			leave(why)
			last = err
		}
		WantError(t, "watch", last, why)
	},
	"invalid entries are refused": func(t *testing.T, s Subject) {
		_, err := s.Put(t.Context(), store.Entry{Key: "a b"}, 0)
		WantError(t, "key", err, store.ErrInvalid)
		_, err = s.Put(t.Context(), store.Entry{Key: "a", Value: bytes.Repeat([]byte("a"), 65<<10)}, 0)
		WantError(t, "size", err, store.ErrTooLarge)
		_, err = s.Get(t.Context(), "")
		WantError(t, "get", err, store.ErrInvalid)
	},
}

var closeCases = map[string]func(*testing.T, Subject){
	"close ends operations in progress and refuses others": func(t *testing.T, s Subject) {
		heard := Subscribe(t, t.Context(), s, "c1")
		Append(t, s, "c1", store.Position{}, "a")
		Receive(t, heard)
		Enqueue(t, s, Job("t1"))
		c := Take(t, s)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_, err := s.Take(t.Context())
			WantError(t, "take", err, store.ErrClosed)
		})
		waiting.Go(func() {
			for _, err := range s.Watch(t.Context()) {
				WantError(t, "watch", err, store.ErrClosed)
			}
		})
		for range 2 {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		waiting.Wait()
		for range heard {
			t.Error("heard something")
		}
		wantClosed(t, s, c)
	},
}

// wantClosed checks that every method fails with ErrClosed.
func wantClosed(t *testing.T, s Subject, c store.Lease) {
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
	WantError(t, "offer", s.Enqueue(ctx, Job("t1")), store.ErrClosed)
	WantError(t, "park", s.Schedule(ctx, Job("t1"), time.Now()), store.ErrClosed)
	WantError(t, "unpark", s.Unschedule(ctx, "t1"), store.ErrClosed)
	WantError(t, "publish", s.Publish(ctx, "c1", nil), store.ErrClosed)
	_, err = s.Subscribe(ctx, "c1")
	WantError(t, "listen", err, store.ErrClosed)
	_, err = s.Get(ctx, "a")
	WantError(t, "get", err, store.ErrClosed)
	_, err = s.Put(ctx, store.Entry{Key: "a"}, 0)
	WantError(t, "put", err, store.ErrClosed)
	_, err = s.Health(ctx)
	WantError(t, "health", err, store.ErrClosed)
	WantError(t, "alive", c.Extend(), store.ErrClosed)
	WantError(t, "done", c.Ack(), store.ErrClosed)
	WantError(t, "again", c.Nack(0), store.ErrClosed)
}
