package store_test

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
func say(t *testing.T, w world, topic, text string) {
	t.Helper()
	if err := w.Publish(t.Context(), topic, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

var liveCases = map[string]func(*testing.T, world){
	"who listens hears what is published and appended": func(t *testing.T, w world) {
		say(t, w, "c1", "before")
		heard, also := listen(t, t.Context(), w, "c1"), listen(t, t.Context(), w, "c1")
		say(t, w, "c2", "elsewhere")
		say(t, w, "c1", "hello")
		at := add(t, w, "c1", store.Position{}, "a", "b")
		large := strings.Repeat("large ", 60<<10)
		at = add(t, w, "c1", at, large)
		say(t, w, "c1", "bye")
		for _, ch := range []<-chan store.Message{heard, also} {
			for _, want := range []store.Message{
				{Data: []byte("hello")},
				{Records: numbered(1, "a", "b")},
				{Records: numbered(3, large)},
				{Data: []byte("bye")},
			} {
				if diff := cmp.Diff(want, next(t, ch), whole); diff != "" {
					t.Error(diff)
				}
			}
		}
		_, err := w.Append(t.Context(), "c1", store.Position{}, records("x")...)
		wantError(t, "late", err, store.ErrConflict)
		add(t, w, "c1", at, "c")
		if diff := cmp.Diff(store.Message{Records: numbered(4, "c")}, next(t, heard)); diff != "" {
			t.Error(diff)
		}
	},
	"a listener that is slow loses the oldest and is told so": func(t *testing.T, w world) {
		heard, quick := listen(t, t.Context(), w, "c1"), listen(t, t.Context(), w, "c1")
		for _, text := range names("text", 999) {
			say(t, w, "c1", text)
			next(t, quick)
		}
		say(t, w, "c1", "last")
		lost, got := false, 0
		for {
			h := next(t, heard)
			lost = lost || h.Gap
			if got++; string(h.Data) == "last" {
				break
			}
		}
		if !lost || got == 1000 {
			t.Errorf("heard %d, lost: %v", got, lost)
		}
		say(t, w, "c1", "after")
		if diff := cmp.Diff(store.Message{Data: []byte("after")}, next(t, heard)); diff != "" {
			t.Error(diff)
		}
	},
	"who leaves hears no more": func(t *testing.T, w world) {
		ctx, leave := context.WithCancel(t.Context())
		heard := listen(t, ctx, w, "c1")
		leave()
		for range heard {
			t.Error("heard something")
		}
		say(t, w, "c1", "hello")
	},
	"what cannot be published is refused": func(t *testing.T, w world) {
		wantError(t, "topic", w.Publish(t.Context(), "a b", nil), store.ErrInvalid)
		wantError(t, "size", w.Publish(t.Context(), "a", bytes.Repeat([]byte("a"), 600<<10)), store.ErrTooLarge)
		_, err := w.Subscribe(t.Context(), ">")
		wantError(t, "listen", err, store.ErrInvalid)
	},
}

// put puts a fact that must be taken.
func put(t *testing.T, w world, f store.Entry, life time.Duration) store.Entry {
	t.Helper()
	f, err := w.Put(t.Context(), f, life)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// get gets a fact.
func get(t *testing.T, w world, key string) store.Entry {
	t.Helper()
	f, err := w.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var sharedCases = map[string]func(*testing.T, world){
	"a fact is what was put last": func(t *testing.T, w world) {
		if f := get(t, w, "a.b"); f.Value != nil || f.Key != "a.b" {
			t.Error(f)
		}
		first := put(t, w, store.Entry{Key: "a.b", Value: []byte("1")}, 0)
		put(t, w, store.Entry{Key: "a.c", Value: []byte("other")}, time.Hour)
		second := put(t, w, store.Entry{Key: "a.b", Value: []byte("2"), Version: first.Version}, time.Hour)
		if diff := cmp.Diff(second, get(t, w, "a.b")); diff != "" || string(second.Value) != "2" {
			t.Error(diff)
		}
		for _, version := range []uint64{0, first.Version, 999} {
			_, err := w.Put(t.Context(), store.Entry{Key: "a.b", Value: []byte("3"), Version: version}, 0)
			wantError(t, "put", err, store.ErrConflict)
		}
	},
	"a fact that was taken away can be put anew": func(t *testing.T, w world) {
		first := put(t, w, store.Entry{Key: "a", Value: []byte("1")}, 0)
		put(t, w, store.Entry{Key: "a", Version: first.Version}, 0)
		if f := get(t, w, "a"); f.Value != nil {
			t.Error(f)
		}
		put(t, w, store.Entry{Key: "a", Value: []byte("2")}, 0)
	},
	"a fact ends with its life": func(t *testing.T, w world) {
		began := time.Now()
		put(t, w, store.Entry{Key: "a", Value: []byte("1")}, time.Second)
		for f, err := range w.Watch(t.Context()) {
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
		if f := get(t, w, "a"); f.Value != nil {
			t.Error(f)
		}
		put(t, w, store.Entry{Key: "a", Value: []byte("2")}, time.Second)
	},
	"one of many becomes the owner": func(t *testing.T, w world) {
		var all sync.WaitGroup
		owners := make(chan string, 8)
		for _, name := range names("n", 8) {
			all.Go(func() {
				_, err := w.Put(t.Context(), store.Entry{Key: "probe", Value: []byte(name)}, time.Minute)
				if err == nil {
					owners <- name
				} else if !errors.Is(err, store.ErrConflict) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if owner := <-owners; len(owners) > 0 || string(get(t, w, "probe").Value) != owner {
			t.Error(owner)
		}
	},
	"who watches sees what is and what changes": func(t *testing.T, w world) {
		put(t, w, store.Entry{Key: "a", Value: []byte("1")}, 0)
		ctx, enough := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("late"))
		defer enough()
		var seen []string
		for f, err := range w.Watch(ctx) {
			if err != nil {
				t.Fatal(seen, err)
			}
			seen = append(seen, f.Key+"="+string(f.Value))
			switch len(seen) {
			case 1:
				put(t, w, store.Entry{Key: "b", Value: []byte("2")}, 0)
			case 2:
				put(t, w, store.Entry{Key: "b", Value: []byte("3"), Version: f.Version}, 0)
			case 3:
				put(t, w, store.Entry{Key: "b", Version: f.Version}, 0)
			}
			if len(seen) == 4 {
				break
			}
		}
		if diff := cmp.Diff([]string{"a=1", "b=2", "b=3", "b="}, seen); diff != "" {
			t.Error(diff)
		}
	},
	"who watches is told why it ends": func(t *testing.T, w world) {
		why := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		defer leave(nil)
		put(t, w, store.Entry{Key: "a", Value: []byte("1")}, 0)
		var last error
		for _, err := range w.Watch(ctx) {
			leave(why)
			last = err
		}
		wantError(t, "watch", last, why)
	},
	"facts that cannot be taken are refused": func(t *testing.T, w world) {
		_, err := w.Put(t.Context(), store.Entry{Key: "a b"}, 0)
		wantError(t, "key", err, store.ErrInvalid)
		_, err = w.Put(t.Context(), store.Entry{Key: "a", Value: bytes.Repeat([]byte("a"), 65<<10)}, 0)
		wantError(t, "size", err, store.ErrTooLarge)
		_, err = w.Get(t.Context(), "")
		wantError(t, "get", err, store.ErrInvalid)
	},
}

var endCases = map[string]func(*testing.T, world){
	"a closed engine ends what is under way and refuses the rest": func(t *testing.T, w world) {
		heard := listen(t, t.Context(), w, "c1")
		add(t, w, "c1", store.Position{}, "a")
		next(t, heard)
		offer(t, w, ticket("t1"))
		c := take(t, w)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_, err := w.Take(t.Context())
			wantError(t, "take", err, store.ErrClosed)
		})
		waiting.Go(func() {
			for _, err := range w.Watch(t.Context()) {
				wantError(t, "watch", err, store.ErrClosed)
			}
		})
		for range 2 {
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		waiting.Wait()
		for range heard {
			t.Error("heard something")
		}
		closed(t, w, c)
	},
}

// closed wants ErrClosed from everything.
func closed(t *testing.T, w world, c store.Lease) {
	ctx := t.Context()
	_, err := w.Append(ctx, "c1", store.Position{}, records("a")...)
	wantError(t, "append", err, store.ErrClosed)
	_, err = w.End(ctx, "c1")
	wantError(t, "end", err, store.ErrClosed)
	for _, err := range w.Read(ctx, "c1", 0) {
		wantError(t, "read", err, store.ErrClosed)
	}
	for _, err := range w.Conversations(ctx, "") {
		wantError(t, "conversations", err, store.ErrClosed)
	}
	wantError(t, "delete", w.Delete(ctx, "c1"), store.ErrClosed)
	wantError(t, "offer", w.Enqueue(ctx, ticket("t1")), store.ErrClosed)
	wantError(t, "park", w.Schedule(ctx, ticket("t1"), time.Now()), store.ErrClosed)
	wantError(t, "unpark", w.Unschedule(ctx, "t1"), store.ErrClosed)
	wantError(t, "publish", w.Publish(ctx, "c1", nil), store.ErrClosed)
	_, err = w.Subscribe(ctx, "c1")
	wantError(t, "listen", err, store.ErrClosed)
	_, err = w.Get(ctx, "a")
	wantError(t, "get", err, store.ErrClosed)
	_, err = w.Put(ctx, store.Entry{Key: "a"}, 0)
	wantError(t, "put", err, store.ErrClosed)
	_, err = w.Health(ctx)
	wantError(t, "health", err, store.ErrClosed)
	wantError(t, "alive", c.Extend(), store.ErrClosed)
	wantError(t, "done", c.Done(), store.ErrClosed)
	wantError(t, "again", c.Nack(0), store.ErrClosed)
}
