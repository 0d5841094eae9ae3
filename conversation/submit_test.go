package conversation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// A process dies around the two writes of an input. What is in the log is answered, and what is not can be
// submitted again.
func TestSubmit_ProcessDiesBetweenJobAndRecord(t *testing.T) {
	for name, die := range map[string]func(*hookStore, func()){
		"before the job":    func(m *hookStore, die func()) { m.offer = func(store.Job) error { die(); return nil } },
		"before the record": func(m *hookStore, die func()) { m.before = once("input-queued", 1, die) },
		"after the record":  func(m *hookStore, die func()) { m.after = once("input-queued", 1, die) },
	} {
		for _, again := range []time.Duration{0, time.Second, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				h := newFixture(t, llmtest.Says("hi"), llmtest.Says("twice"))
				runner, _ := h.runner()
				c := h.create(runner)
				killed := &dyingStore{Store: h.engine}
				m := &hookStore{Store: killed}
				die(m, func() { killed.dead.Store(true) })
				h.config.Store = m
				_, _ = conversation.New(h.config).Submit(t.Context(), c, "t1", "hello")
				time.Sleep(again)
				recorded := count(kinds(t, h.engine, c), "input-queued") > 0
				h.config.Store = h.engine
				if !recorded {
					h.submit(c, "t1", "hello")
				}
				time.Sleep(time.Minute)
				if got := turns(t, runner, c); got["t1"] != turn.Done || len(h.model.(*llmtest.Model).Requests()) != 1 {
					t.Errorf("%s, again after %v: got turns %v and %d requests, want t1 done after one", name, again, got, len(h.model.(*llmtest.Model).Requests()))
				}
			})
		}
	}
}

// A process that stops for a while between the two writes of an input has it answered all the same.
func TestSubmit_StallsBetweenJobAndRecord(t *testing.T) {
	for _, stall := range []time.Duration{time.Millisecond, 4 * time.Second, 9 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, llmtest.Says("hi"))
			h.hookStore().before = once("input-queued", 1, func() { time.Sleep(stall) })
			runner, _ := h.runner()
			c := h.create(runner)
			began := time.Now()
			h.say(runner, c, "hello")
			follow(t, runner, c, 0, 1)
			if took := time.Since(began); took > stall+time.Second {
				t.Errorf("stalled for %v: answered after %v, want at once", stall, took)
			}
		})
	}
}

// turns returns how the turns of a conversation have ended.
func turns(t *testing.T, runner *conversation.Runner, c string) map[string]turn.Status {
	t.Helper()
	ends := map[string]turn.Status{}
	for e, err := range runner.History(t.Context(), c, 0) {
		if err != nil {
			t.Errorf("history: %v", err)
			break
		}
		if b, ok := e.Body.(wire.Turn); ok {
			if s, ok := b.Event.(turn.Sealed); ok {
				ends[b.TurnID] = s.Status
			}
		}
	}
	return ends
}

// submit submits an input as another process would.
func (h *fixture) submit(c, id, text string) {
	h.t.Helper()
	if got, err := conversation.New(h.config).Submit(h.t.Context(), c, id, text); err != nil || got != id {
		h.t.Errorf("submit: got %q, %v; want %q", got, err, id)
	}
}

// An input is stored once: its job has no text.
func TestSubmit_TextIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hi"))
		jobs := 0
		h.hookStore().offer = func(j store.Job) error {
			if jobs += len(j.Body); jobs > 200 {
				t.Errorf("got a job of %d bytes, want no text in it: %.200s", len(j.Body), j.Body)
			}
			return nil
		}
		desk := conversation.New(h.config)
		h.say(desk, h.create(desk), strings.Repeat("x", 100<<10))
		if jobs == 0 {
			t.Error("got no job, want one")
		}
	})
}

// An input that cannot be recorded is not accepted: the caller gets the error.
func TestSubmit_FailedRecordIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hi"))
		full := &fullLog{h.engine}
		desk := conversation.New(h.config)
		c := h.create(desk)
		h.config.Store = full
		if id, err := conversation.New(h.config).Submit(t.Context(), c, "", "hello"); !errors.Is(err, store.ErrFull) {
			t.Errorf("submit: got %q, %v; want %v", id, err, store.ErrFull)
		}
		h.config.Store = h.engine
		runner, _ := h.runner()
		time.Sleep(time.Minute)
		if v, err := runner.Get(t.Context(), c); err != nil || v.Turn != "" || len(v.Inputs) != 0 {
			t.Errorf("get: got %+v, %v; want nothing in progress", v, err)
		}
	})
}

// fullLog is a store without room in its logs.
type fullLog struct{ store.Store }

func (fullLog) Append(context.Context, string, store.Position, ...store.Record) (store.Position, error) {
	return store.Position{}, store.ErrFull
}
