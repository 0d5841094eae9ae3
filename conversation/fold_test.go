package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// A runner that writes a conversation sees it as one that reads it, also in a wait for a fault with a key in
// its text.
func TestGet_WriterSeesWhatReadersSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := &fault.Error{Kind: fault.RateLimited, Status: 429, Wait: 2 * time.Minute, Message: `{"error":"slow down, sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF"}`}
		h := newFixture(t, llmtest.Says("one"), llmtest.Fails(limited))
		runner, _ := h.runner()
		c := h.create(runner)
		for _, text := range []string{"first", "second", "third"} {
			h.say(runner, c, text)
			time.Sleep(time.Second)
			live, err := runner.Get(t.Context(), c)
			if err != nil {
				t.Fatalf("get: %v", err)
			}
			read, err := conversation.New(h.config).Get(t.Context(), c)
			if err != nil {
				t.Fatalf("get by another runner: %v", err)
			}
			if diff := cmp.Diff(read, live); diff != "" {
				t.Errorf("view after %q (-read +live):\n%s", text, diff)
			}
			if text, _ := json.Marshal(live); strings.Contains(string(text), "AAAABBBB") {
				t.Errorf("the view shows the key: %s", text)
			}
		}
	})
}

// Readers of a long conversation that waits keep only where they are.
func TestAttach_KeepsNoHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes hundreds of megabytes, one after the other")
	}
	s := store.Memory()
	defer s.Close(context.Background())
	var at store.Position
	add := func(r store.Record, err error) {
		t.Helper()
		if err == nil {
			at, err = s.Append(t.Context(), "c", at, r)
		}
		if err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	now := time.Now()
	add(conversation.CreatedRecord(conversation.Settings{}, now))
	for n := range 100 {
		add(conversation.EventRecord("c", fmt.Sprint(n), turn.UserMessage{Text: strings.Repeat("x", 100<<10)}, now))
	}
	r := conversation.New(conversation.Config{Store: s})
	before := heap()
	const readers = 5
	for range readers {
		next, stop := iter.Pull2(r.Attach(t.Context(), "c", 0))
		defer stop()
		for range 100 {
			if e, err, ok := next(); !ok || err != nil || wire.Type(e.Body) != "user-message" {
				t.Fatalf("attach: got %v, %v, %t; want a user message", e, err, ok)
			}
		}
	}
	if grown := (heap() - before) / readers; grown > 1<<20 {
		t.Errorf("got %d KiB that a reader of 10 MiB keeps, want at most 1024", grown>>10)
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
