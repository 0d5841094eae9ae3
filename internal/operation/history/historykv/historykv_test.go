package historykv_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/history/historykv"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

func TestKeeper_LoadsWhatWasSavedLast(t *testing.T) {
	k := historykv.Keeper{KV: store.Memory(), Name: "main"}
	if text, err := k.Load(t.Context()); text != nil || err != nil {
		t.Errorf("before anything is saved: got %d bytes, %v, want none", len(text), err)
	}
	large := make([]byte, 200<<10) // which does not compress
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	for _, want := range [][]byte{[]byte("one"), large, []byte("three")} {
		if err := k.Save(t.Context(), want); err != nil {
			t.Fatalf("save %d bytes: %v", len(want), err)
		}
		if got, err := k.Load(t.Context()); !bytes.Equal(got, want) || err != nil {
			t.Errorf("got %d bytes, %v, want the %d that were saved", len(got), err, len(want))
		}
	}
	if text, err := (historykv.Keeper{KV: k.KV, Name: "other"}).Load(t.Context()); text != nil || err != nil {
		t.Errorf("of another name: got %d bytes, %v, want none", len(text), err)
	}
}

// broken is a store of entries that does not answer.
type broken struct{ store.KV }

func (broken) Get(context.Context, string) (store.Entry, error) {
	return store.Entry{}, store.ErrUnavailable
}

func TestKeeper_NoAnswerIsAnError(t *testing.T) {
	k := historykv.Keeper{KV: broken{}, Name: "main"}
	if _, err := k.Load(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("load: %v, want ErrUnavailable", err)
	}
	if err := k.Save(t.Context(), []byte("text")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("save: %v, want ErrUnavailable", err)
	}
}

// fail has tries at an upstream fail for some minutes, so that there is an incident.
func fail(h *history.History) {
	for i := range 5 {
		id := int64(i + 1)
		h.Watch(gateway.Event{At: time.Now(), Call: gateway.Call{ID: id, Upstream: "anthropic", Model: "m", Began: time.Now()}, Try: retry.Try{
			N: 1, Start: time.Now(), Took: time.Second, Fault: &fault.Error{Kind: fault.Overloaded, Status: 529},
		}})
		time.Sleep(30 * time.Second)
	}
}

// The incidents of a process are there in the next one, of a gateway that has no directory.
func TestHistory_OutlivesTheProcessWithNATS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := historykv.Keeper{KV: store.Memory(), Name: "main"}
		run := func(saves bool, during func(*history.History)) int {
			h := history.Open("", slog.New(slog.DiscardHandler))
			ctx, end := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { h.PersistIn(ctx, k, func() bool { return saves }); close(done) }()
			synctest.Wait()
			during(h)
			end()
			<-done
			return len(h.Incidents(time.Now()))
		}
		if n := run(false, fail); n != 1 {
			t.Fatalf("after an outage: %d incidents, want 1", n)
		}
		if n := run(true, func(*history.History) {}); n != 0 {
			t.Errorf("after one that another gateway was to save: %d incidents, want none", n)
		}
		if n := run(true, fail); n != 1 {
			t.Errorf("after an outage: %d incidents, want 1", n)
		}
		if n := run(true, func(*history.History) {}); n != 1 {
			t.Errorf("in the next process: %d incidents, want 1", n)
		}
	})
}
