package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// twoModels has agents ask the model that a turn's settings name: small answers, any other is overloaded.
func (h *fixture) twoModels() (small *llmtest.Model) {
	small = llmtest.New(llm.Name{Provider: "acme", Model: "small"}, llmtest.Says("from small"), llmtest.Says("from small again"))
	usual := h.config.Agent
	h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
		a, err := usual(ctx, s)
		if s.Model == "acme/small" {
			a.Model = small
		}
		return a, err
	}
	return small
}

// A turn that waits for its model asks another one at once, whether a worker holds it or it is parked, and whichever
// runner knows.
func TestMove_AsksTheOtherModelAtOnce(t *testing.T) {
	for name, at := range map[string]time.Duration{"held by its worker": 2 * time.Second, "parked": 50 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy))
				small := h.twoModels()
				runner, _ := h.runner()
				other, _ := h.runner()
				c := h.create(runner)
				seen := make(chan []string, 1)
				go func() { seen <- follow(t, runner, c, 0, 1) }()
				h.say(runner, c, "hello")
				time.Sleep(at)
				began := time.Now()
				if err := other.Move(t.Context(), c, "acme/small"); err != nil {
					t.Fatalf("move: %v", err)
				}
				got := <-seen
				if took := time.Since(began); took > time.Second || len(small.Requests()) != 1 {
					t.Errorf("sealed %v after the move, with %d requests to the other model; want at once and 1", took, len(small.Requests()))
				}
				lines := fmt.Sprintf("%q", got)
				for _, want := range []string{"model: from small", "sealed done"} {
					if !containsLine(got, want) {
						t.Errorf("events: got %s, want one that begins with %q", lines, want)
					}
				}
				if containsLine(got, "turn-restarted") {
					t.Errorf("events: got %s, want no restart: nothing was shown", lines)
				}
				synctest.Wait() // the reader gets the seal before the runners have told each other
				if _, n := runner.Waits(9); n != 0 {
					t.Errorf("%d turns wait after the answer; want none", n)
				}
				v, err := runner.Get(t.Context(), c)
				if err != nil || v.Settings.Model == "acme/small" {
					t.Errorf("settings: got %+v, %v; want the model as it was: only this turn has moved", v.Settings, err)
				}
			})
		})
	}
}

// A turn that does not wait is left alone.
func TestMove_OnlyATurnThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hello"))
		runner, _ := h.runner()
		c := h.create(runner)
		if err := runner.Move(t.Context(), c, "acme/small"); !errors.Is(err, conversation.ErrIdle) {
			t.Errorf("move without a turn: got %v, want %v", err, conversation.ErrIdle)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Minute, llmtest.Says("hello")))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(10 * time.Second)
		if err := runner.Move(t.Context(), c, "acme/small"); !errors.Is(err, conversation.ErrNotWaiting) {
			t.Errorf("move of a turn that is being answered: got %v, want %v", err, conversation.ErrNotWaiting)
		}
		time.Sleep(2 * time.Minute)
	})
}

// The move is in the log: a runner that takes the turn over asks the other model too.
func TestMove_OutlivesItsRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy))
		small := h.twoModels()
		first, end := h.runner()
		c := h.create(first)
		h.say(first, c, "hello")
		time.Sleep(50 * time.Second) // parked
		end()
		if err := first.Move(t.Context(), c, "acme/small"); err != nil {
			t.Fatalf("move: %v", err)
		}
		second, _ := h.runner()
		if got := follow(t, second, c, 0, 1); !containsLine(got, "model: from small") || len(small.Requests()) != 1 {
			t.Errorf("got %q and %d requests, want the other model's answer and 1", got, len(small.Requests()))
		}
	})
}

// containsLine reports whether one of some lines begins so.
func containsLine(lines []string, prefix string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
}
