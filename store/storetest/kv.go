package storetest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store"
)

// put puts an entry.
func put(t *testing.T, s Subject, e store.Entry, ttl time.Duration) store.Entry {
	t.Helper()
	stored, err := s.Put(t.Context(), e, ttl)
	if err != nil {
		t.Fatalf("put %s at revision %d: %v", e.Key, e.Revision, err)
	}
	return stored
}

// get gets an entry.
func get(t *testing.T, s Subject, key string) store.Entry {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return e
}

// wantNoEntry checks that there is no entry of a key.
func wantNoEntry(t *testing.T, s Subject, key string) {
	t.Helper()
	if diff := cmp.Diff(store.Entry{Key: key}, get(t, s, key)); diff != "" {
		t.Errorf("get (-want +got):\n%s", diff)
	}
}

var kvCases = map[string]func(*testing.T, Subject){
	"an entry has the value that was put last": func(t *testing.T, s Subject) {
		wantNoEntry(t, s, "a.b")
		first := put(t, s, store.Entry{Key: "a.b", Value: []byte("1")}, 0)
		other := put(t, s, store.Entry{Key: "a.c", Value: []byte("other")}, time.Hour)
		second := put(t, s, store.Entry{Key: "a.b", Value: []byte("2"), Revision: first.Revision}, time.Hour)
		if diff := cmp.Diff(second, get(t, s, "a.b")); diff != "" || string(second.Value) != "2" {
			t.Errorf("get a.b with value 2 (-put +got):\n%s", diff)
		}
		for _, revision := range []uint64{0, first.Revision, other.Revision} {
			_, err := s.Put(t.Context(), store.Entry{Key: "a.b", Value: []byte("3"), Revision: revision}, 0)
			WantError(t, "put", err, store.ErrConflict)
		}
	},
	"a deleted entry can be created again": func(t *testing.T, s Subject) {
		first := put(t, s, store.Entry{Key: "a", Value: []byte("1")}, 0)
		put(t, s, store.Entry{Key: "a", Revision: first.Revision}, 0)
		wantNoEntry(t, s, "a")
		put(t, s, store.Entry{Key: "a", Value: []byte("2")}, 0)
	},
	"an entry expires after its ttl": func(t *testing.T, s Subject) {
		start := time.Now()
		put(t, s, store.Entry{Key: "a", Value: []byte("1")}, time.Second)
		for e, err := range s.Watch(t.Context(), "") {
			if err != nil {
				t.Fatalf("watch: %v", err)
			}
			if e.Value == nil {
				break
			}
		}
		if lasted := time.Since(start); lasted < time.Second-time.Second/20 {
			t.Errorf("it expired after %v, want 1 s", lasted)
		}
		wantNoEntry(t, s, "a")
		put(t, s, store.Entry{Key: "a", Value: []byte("2")}, time.Second)
	},
	"one of many creates an entry": func(t *testing.T, s Subject) {
		var all sync.WaitGroup
		created := make(chan string, 8)
		for _, name := range names("n", 8) {
			all.Go(func() {
				_, err := s.Put(t.Context(), store.Entry{Key: "probe", Value: []byte(name)}, time.Minute)
				if err == nil {
					created <- name
				} else if !errors.Is(err, store.ErrConflict) {
					t.Errorf("put by %s: %v", name, err)
				}
			})
		}
		all.Wait()
		if creator, got := <-created, string(get(t, s, "probe").Value); len(created) > 0 || got != creator {
			t.Errorf("the entry is of %s, and was created by %s and %d others", got, creator, len(created))
		}
	},
	"a watcher sees entries and their changes": watchChanges,
	"a watcher sees what is below a key":       watchBelow,
	"a watch ends with the cause of its context": func(t *testing.T, s Subject) {
		cause := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		put(t, s, store.Entry{Key: "a", Value: []byte("1")}, 0)
		var last error
		for _, err := range s.Watch(ctx, "") {
			cancel(cause)
			last = err
		}
		WantError(t, "watch", last, cause)
	},
	"invalid entries are refused": func(t *testing.T, s Subject) {
		_, err := s.Put(t.Context(), store.Entry{Key: "a b"}, 0)
		WantError(t, "key", err, store.ErrInvalid)
		_, err = s.Put(t.Context(), store.Entry{Key: "a", Value: bytes.Repeat([]byte("a"), 65<<10)}, 0)
		WantError(t, "size", err, store.ErrTooLarge)
		_, err = s.Get(t.Context(), "")
		WantError(t, "get", err, store.ErrInvalid)
		for _, err := range s.Watch(t.Context(), "a.") {
			WantError(t, "watch", err, store.ErrInvalid)
		}
	},
}

// watchBelow watches a part of the entries, before and after there are some.
func watchBelow(t *testing.T, s Subject) {
	for _, key := range []string{"down", "down.a", "downs.b", "up.down.c"} {
		put(t, s, store.Entry{Key: key, Value: []byte("1")}, 0)
	}
	var seen []string
	for e, err := range s.Watch(t.Context(), "down") {
		if err != nil {
			t.Fatalf("watch after %v: %v", seen, err)
		}
		seen = append(seen, e.Key)
		if len(seen) == 2 {
			break
		}
		put(t, s, store.Entry{Key: "other", Value: []byte("2")}, 0)
		put(t, s, store.Entry{Key: "down.d.e", Value: []byte("2")}, 0)
	}
	if diff := cmp.Diff([]string{"down.a", "down.d.e"}, seen); diff != "" {
		t.Errorf("entries below down (-want +got):\n%s", diff)
	}
}

// watchChanges creates, changes and deletes an entry while it watches.
func watchChanges(t *testing.T, s Subject) {
	put(t, s, store.Entry{Key: "a", Value: []byte("1")}, 0)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("no change for 20 s"))
	defer cancel()
	var seen []string
	for e, err := range s.Watch(ctx, "") {
		if err != nil {
			t.Fatalf("watch after %v: %v", seen, err)
		}
		seen = append(seen, e.Key+"="+string(e.Value))
		switch len(seen) {
		case 1:
			put(t, s, store.Entry{Key: "b", Value: []byte("2")}, 0)
		case 2:
			put(t, s, store.Entry{Key: "b", Value: []byte("3"), Revision: e.Revision}, 0)
		case 3:
			put(t, s, store.Entry{Key: "b", Revision: e.Revision}, 0)
		}
		if len(seen) == 4 {
			break
		}
	}
	if diff := cmp.Diff([]string{"a=1", "b=2", "b=3", "b="}, seen); diff != "" {
		t.Errorf("watched entries (-want +got):\n%s", diff)
	}
}
