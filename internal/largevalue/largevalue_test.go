package largevalue_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/largevalue"
	"github.com/ridethrough/ridethrough/store"
)

// random returns a value of n bytes.
func random(n int) []byte {
	all := make([]byte, n)
	for i := range all {
		all[i] = byte(rand.Uint32())
	}
	return all
}

func TestValue_LoadsWhatWasSavedLast(t *testing.T) {
	v := largevalue.Value{KV: store.Memory(), Key: "history-main"}
	if text, _, err := v.Load(t.Context(), 0); text != nil || err != nil {
		t.Errorf("before anything is saved: got %d bytes, %v, want none", len(text), err)
	}
	for _, want := range [][]byte{[]byte("one"), random(200 << 10), []byte("three")} {
		if err := v.Save(t.Context(), want, 0); err != nil {
			t.Fatalf("save %d bytes: %v", len(want), err)
		}
		got, revision, err := v.Load(t.Context(), 0)
		if !bytes.Equal(got, want) || err != nil {
			t.Errorf("got %d bytes, %v, want the %d that were saved", len(got), err, len(want))
		}
		if again, _, err := v.Load(t.Context(), revision); again != nil || err != nil {
			t.Errorf("of the same revision: got %d bytes, %v, want none", len(again), err)
		}
	}
	if text, _, err := (largevalue.Value{KV: v.KV, Key: "history-other"}).Load(t.Context(), 0); text != nil || err != nil {
		t.Errorf("of another key: got %d bytes, %v, want none", len(text), err)
	}
	if err := v.Save(t.Context(), random(13<<20), 0); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("of 13 MiB: %v, want ErrTooLarge", err)
	}
}

func TestValue_LeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := store.Memory()
		v := largevalue.Value{KV: kv, Key: "answer"}
		entries := func() (n int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for e := range kv.Watch(ctx, "") {
				if e.Value != nil {
					n++
				}
			}
			return n
		}
		save := func(n int, ttl time.Duration) {
			t.Helper()
			if err := v.Save(t.Context(), random(n), ttl); err != nil {
				t.Fatalf("save: %v", err)
			}
		}
		save(100<<10, 0)
		save(10, 0)
		if n := entries(); n != 2 {
			t.Errorf("after a small value in place of a large one: %d entries, want 2", n)
		}
		if err := v.Delete(t.Context()); err != nil || entries() != 0 {
			t.Errorf("after its end: %d entries, %v, want none", entries(), err)
		}
		save(100<<10, time.Minute)
		time.Sleep(2 * time.Minute)
		if text, _, err := v.Load(t.Context(), 0); text != nil || err != nil || entries() != 0 {
			t.Errorf("after its time: %d bytes in %d entries, %v, want none", len(text), entries(), err)
		}
	})
}

// broken is a store of entries that does not answer.
type broken struct{ store.KV }

func (broken) Get(context.Context, string) (store.Entry, error) {
	return store.Entry{}, store.ErrUnavailable
}

func TestValue_NoAnswerIsAnError(t *testing.T) {
	v := largevalue.Value{KV: broken{}, Key: "history-main"}
	if _, _, err := v.Load(t.Context(), 0); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("load: %v, want ErrUnavailable", err)
	}
	if err := v.Save(t.Context(), []byte("text"), 0); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("save: %v, want ErrUnavailable", err)
	}
}
