package conversation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store/bolt"
)

// newest says briefly which conversations are the newest.
func newest(t *testing.T, h *conversation.Runner, n int) string {
	t.Helper()
	views, err := h.Recent(t.Context(), n)
	if err != nil {
		t.Fatalf("recent: %v", err)
	}
	var all []string
	for _, v := range views {
		line := v.ID + " " + v.Settings.Title
		if v.Turn != "" {
			line += " at " + v.Turn
		}
		if v.Wait != nil {
			line += " waits"
		}
		all = append(all, line)
	}
	return strings.Join(all, ", ")
}

func (h *fixture) found(runner *conversation.Runner, id, title string) {
	h.t.Helper()
	if _, err := runner.Create(h.t.Context(), id, conversation.Settings{Model: "acme/large", Title: title}); err != nil {
		h.t.Fatalf("create: %v", err)
	}
}

func TestRecent_ReturnsNewestConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, failing(1, llmtest.Late(time.Second, llmtest.Says("hi")))...)
		runner, _ := h.runner()
		check := func(want string) {
			t.Helper()
			if got := newest(t, runner, 3); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		check("")
		for i := range 4 {
			h.found(runner, fmt.Sprint("c", i), "t")
		}
		check("c3 t, c2 t, c1 t")
		h.speak(runner, "c2", "x")
		synctest.Wait()
		check("c3 t, c2 t at x waits, c1 t")
		if err := runner.Change(t.Context(), "c1", conversation.Settings{Model: "acme/large", Title: "other"}); err != nil {
			t.Fatalf("change: %v", err)
		}
		check("c3 t, c2 t at x waits, c1 other")
		if err := runner.Delete(t.Context(), "c3"); err != nil {
			t.Fatalf("delete: %v", err)
		}
		check("c2 t at x waits, c1 other, c0 t")
		time.Sleep(10 * time.Second)
		check("c2 t, c1 other, c0 t")
	})
}

func TestRecent_ShowsChangesOfOtherRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, failing(9)...)
		runner, _ := h.runner()
		elsewhere := conversation.New(h.config)
		h.found(runner, "c1", "t")
		h.found(runner, "c2", "t")
		if got := newest(t, elsewhere, 3); got != "c2 t, c1 t" {
			t.Errorf("newest: got %q, want c2 and c1 idle", got)
		}
		h.found(runner, "c3", "t")
		h.speak(runner, "c1", "x")
		if err := runner.Delete(t.Context(), "c2"); err != nil {
			t.Fatalf("delete: %v", err)
		}
		time.Sleep(16 * time.Second)
		if got := newest(t, elsewhere, 3); got != "c3 t, c1 t at x waits" {
			t.Errorf("newest: got %q, want c3 and c1 waiting at x", got)
		}
		time.Sleep(2 * time.Hour) // without a reader
		h.found(runner, "c4", "t")
		h.found(runner, "c5", "t")
		if mine, yours := newest(t, runner, 2), newest(t, elsewhere, 2); mine != "c5 t, c4 t" || yours != mine {
			t.Errorf("%q and %q", mine, yours)
		}
	})
}

func TestRecent_FailingStoreLeavesKnownList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		runner, end := h.runner()
		h.found(runner, "c1", "t")
		if got := newest(t, runner, 3); got != "c1 t" {
			t.Errorf("newest: got %q, want c1 idle", got)
		}
		end()
		time.Sleep(time.Minute)
		if err := h.engine.Close(t.Context()); err != nil {
			t.Fatalf("close: %v", err)
		}
		if views, err := runner.Recent(t.Context(), 3); len(views) != 1 || err == nil {
			t.Errorf("%+v, %v", views, err)
		}
	})
}

// The list of a store with a thousand conversations is read again and again.
func BenchmarkRecent(b *testing.B) {
	for _, c := range []struct {
		name string
		read bool
	}{{"known", false}, {"read", true}} {
		b.Run(c.name, func(b *testing.B) {
			store, err := bolt.Open(b.Context(), bolt.Config{Dir: b.TempDir()})
			if err != nil {
				b.Fatalf("open: %v", err)
			}
			defer func() { _ = store.Close(context.Background()) }()
			runner := conversation.New(conversation.Config{Store: store})
			for i := range 300 {
				if _, err := runner.Create(b.Context(), fmt.Sprintf("c%04d", i), conversation.Settings{Model: "acme/large"}); err != nil {
					b.Fatalf("create: %v", err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if c.read {
					runner = conversation.New(conversation.Config{Store: store})
				}
				if _, err := runner.Recent(b.Context(), 100); err != nil {
					b.Fatalf("recent: %v", err)
				}
			}
		})
	}
}
