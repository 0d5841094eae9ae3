package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/tool"
)

// pauses pauses a conversation.
func pauses(t *testing.T, r *conversation.Runner, c string) {
	t.Helper()
	if err := r.Pause(t.Context(), c); err != nil {
		t.Fatalf("pause: %v", err)
	}
}

// resumes ends the pause of a conversation.
func resumes(t *testing.T, r *conversation.Runner, c string) {
	t.Helper()
	if err := r.Resume(t.Context(), c); err != nil {
		t.Fatalf("resume: %v", err)
	}
}

// view returns a conversation.
func view(t *testing.T, r *conversation.Runner, c string) conversation.View {
	t.Helper()
	v, err := r.Get(t.Context(), c)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return v
}

// exchange returns lines of events without retries, deltas and usage.
func exchange(events []string) (some []string) {
	for _, line := range events {
		if !strings.HasPrefix(line, "…") && !strings.HasPrefix(line, "retry") && line != "provider-waiting" && line != "usage" {
			some = append(some, line)
		}
	}
	return some
}

// A turn that waits asks its model no more while its conversation is paused, whether a worker holds it or it is parked,
// and continues in its wait when it is resumed.
func TestPause_AWaitThatGoesOn(t *testing.T) {
	for name, at := range map[string]time.Duration{"held by its worker": 2 * time.Second, "parked": 50 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("hi"))
				model := h.model.(*llmtest.Model)
				runner, _ := h.runner()
				other, _ := h.runner()
				c := h.create(runner)
				h.say(runner, c, "hello")
				time.Sleep(at)
				asked := len(model.Requests())
				pauses(t, other, c)
				pauses(t, runner, c)
				synctest.Wait()
				v := view(t, other, c)
				if v.Paused.IsZero() || v.Wait == nil || !v.Wait.Paused {
					t.Errorf("paused: got since %v, wait %+v; want a paused wait", v.Paused, v.Wait)
				}
				if waits, n := runner.Waits(9); n != 1 || !waits[0].Paused {
					t.Errorf("waits: got %d, %+v; want the paused one", n, waits)
				}
				left := time.Until(v.Wait.Due)
				if err := runner.RetryNow(t.Context(), c); !errors.Is(err, conversation.ErrPaused) {
					t.Errorf("retry now: got %v, want %v", err, conversation.ErrPaused)
				}
				runner.RetryAll(t.Context(), "acme")
				time.Sleep(left / 2)
				if n := len(model.Requests()); n != asked {
					t.Errorf("the model was asked %d times in the pause; want none", n-asked)
				}
				seen := make(chan []string, 1)
				go func() { seen <- follow(t, other, c, v.Last, 1) }()
				synctest.Wait()
				resumes(t, other, c)
				resumes(t, other, c)
				synctest.Wait()
				if v := view(t, runner, c); !v.Paused.IsZero() || v.Wait == nil || v.Wait.Paused || len(model.Requests()) != asked {
					t.Errorf("resumed: got %+v after %d requests; want the rest of the wait", v, len(model.Requests())-asked)
				}
				time.Sleep(left/2 + 5*time.Second)
				if n := len(model.Requests()); n != asked+1 {
					t.Errorf("the model was asked %d times by the end of the wait; want once", n-asked)
				}
				time.Sleep(20 * time.Minute)
				got := <-seen
				want := fmt.Sprintf("retry %d in %v:", v.Wait.Wait.Retry()-1, (left / 2).Round(time.Second))
				if len(got) < 2 || got[0] != "conversation-resumed" || !strings.HasPrefix(got[1], want) {
					t.Errorf("events from the pause on: got %q, want %q behind its end: what is left of the wait", got, want)
				}
				if containsLine(got, "turn-restarted") || !containsLine(got, "model: hi") {
					t.Errorf("events: got %q, want an answer without a restart", got)
				}
			})
		})
	}
}

// An answer in progress comes to its end: what was paid for is not thrown away. No other one is asked for.
func TestPause_AnAnswerEndsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Minute, llmtest.Says("hi")), llmtest.Says("bye"))
		model := h.model.(*llmtest.Model)
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(10 * time.Second)
		pauses(t, runner, c)
		h.say(runner, c, "and?")
		time.Sleep(time.Hour)
		v := view(t, runner, c)
		if v.Turn != "" || len(v.Inputs) != 1 || len(model.Requests()) != 1 {
			t.Errorf("paused: got turn %q, %d inputs, %d requests; want the turn sealed and the input waiting", v.Turn, len(v.Inputs), len(model.Requests()))
		}
		resumes(t, runner, c)
		want := []string{
			"queued: hello", "turn-start", "user: hello", "conversation-paused", "queued: and?", "model: hi", "sealed done, 0 retries, 0ms",
			"conversation-resumed", "turn-start", "user: and?", "model: bye", "sealed done, 0 retries, 0ms",
		}
		if got := exchange(follow(t, runner, c, 0, 2)); !slices.Equal(got, want) {
			t.Errorf("events:\ngot  %q\nwant %q", got, want)
		}
	})
}

// A turn with tools stops before the next one, and neither an answer is asked for nor a tool run twice.
func TestPause_BetweenToolsAndAnswers(t *testing.T) {
	for _, c := range []struct {
		name      string
		at        time.Duration
		ran, asks int // by the pause's end
	}{
		{"while the model answers", 30 * time.Second, 0, 1},
		{"while a tool runs", 90 * time.Second, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int32
				call := llmtest.Calls(llm.ToolCall{ID: "1", Name: "count", Arguments: []byte(`{}`)})
				h := newFixture(t, llmtest.Late(time.Minute, call), llmtest.Says("done"))
				h.tools = []tool.Tool{tool.Func("count", "counts", func(context.Context, struct{}) (string, error) {
					ran.Add(1)
					time.Sleep(time.Minute)
					return "1", nil
				})}
				model := h.model.(*llmtest.Model)
				runner, _ := h.runner()
				id := h.create(runner)
				h.say(runner, id, "count")
				time.Sleep(c.at)
				pauses(t, runner, id)
				time.Sleep(time.Hour)
				if int(ran.Load()) != c.ran || len(model.Requests()) != c.asks || view(t, runner, id).Turn == "" {
					t.Errorf("in the pause: got %d tools, %d requests, turn %q; want %d, %d and the turn", ran.Load(), len(model.Requests()), view(t, runner, id).Turn, c.ran, c.asks)
				}
				resumes(t, runner, id)
				got := follow(t, runner, id, 0, 1)
				if ran.Load() != 1 || len(model.Requests()) != 2 || containsLine(got, "turn-restarted") || !containsLine(got, "model: done") {
					t.Errorf("resumed: got %d tools, %d requests, %q; want 1, 2 and the answer without a restart", ran.Load(), len(model.Requests()), got)
				}
			})
		})
	}
}

// What is said in a pause waits, in its order.
func TestPause_InputsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("one"), llmtest.Says("two"))
		runner, _ := h.runner()
		c := h.create(runner)
		pauses(t, runner, c)
		h.say(runner, c, "first")
		h.say(runner, c, "second")
		time.Sleep(time.Hour)
		if v := view(t, runner, c); v.Turn != "" || len(v.Inputs) != 2 {
			t.Errorf("paused: got turn %q and %d inputs, want none and 2", v.Turn, len(v.Inputs))
		}
		resumes(t, runner, c)
		got := exchange(follow(t, runner, c, 0, 2))
		if want := []string{"conversation-paused", "queued: first", "queued: second", "conversation-resumed"}; !slices.Equal(got[:4], want) || !containsLine(got, "model: two") {
			t.Errorf("events: got %q, want %q and then both answers", got, want)
		}
	})
}

// A pause is in the log: it lasts until it is ended, whatever becomes of runners, and so does what waits in it.
func TestPause_OutlivesItsRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("hi"), llmtest.Says("bye"))
		model := h.model.(*llmtest.Model)
		first, end := h.runner()
		c := h.create(first)
		h.say(first, c, "hello")
		time.Sleep(2 * time.Second)
		pauses(t, first, c)
		h.say(first, c, "and?")
		synctest.Wait()
		end()
		second, endSecond := h.runner()
		time.Sleep(12 * time.Hour)
		if waits, n := second.Waits(9); n != 1 || !waits[0].Paused {
			t.Errorf("waits of the next runner: got %d, %+v, want the paused one", n, waits)
		}
		for v, err := range second.List(t.Context(), "") {
			if err != nil || v.Paused.IsZero() {
				t.Errorf("list: got %+v, %v, want a paused conversation", v, err)
			}
		}
		if n := len(model.Requests()); n != 1 {
			t.Errorf("the model was asked %d times, want once before the pause", n)
		}
		endSecond()
		resumes(t, first, c) // no runner works
		third, _ := h.runner()
		if got := follow(t, third, c, 0, 2); !containsLine(got, "model: hi") || !containsLine(got, "model: bye") {
			t.Errorf("events: got %q, want both answers", got)
		}
		for v := range third.List(t.Context(), "") {
			if !v.Paused.IsZero() {
				t.Errorf("list after the pause: got %v, want no pause", v.Paused)
			}
		}
	})
}

// A pause counts against no limit of time of the policy.
func TestPause_CountsAgainstNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("hi"))
		usual := h.config.Agent
		h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
			a, err := usual(ctx, s)
			a.Retry.Policy = policy.Policy{Retries: policy.Unlimited, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}, Deadline: time.Hour}
			return a, err
		}
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(30 * time.Second)
		pauses(t, runner, c)
		time.Sleep(3 * time.Hour)
		resumes(t, runner, c)
		if got := follow(t, runner, c, 0, 1); !containsLine(got, "sealed done") {
			t.Errorf("events: got %q, want an answer: the pause is no part of the hour", got)
		}
	})
}

// A paused turn can be stopped and moved.
func TestPause_StopAndMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy))
		small := h.twoModels()
		runner, _ := h.runner()
		moved, stopped := h.create(runner), h.create(runner)
		h.say(runner, moved, "hello")
		h.say(runner, stopped, "hello")
		time.Sleep(2 * time.Second)
		pauses(t, runner, moved)
		pauses(t, runner, stopped)
		synctest.Wait()
		if err := runner.Stop(t.Context(), stopped, ""); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := runner.Move(t.Context(), moved, "acme/small"); err != nil {
			t.Errorf("move: %v", err)
		}
		time.Sleep(time.Hour)
		if got := follow(t, runner, stopped, 0, 1); !containsLine(got, "sealed aborted") {
			t.Errorf("stopped in the pause: got %q, want it sealed", got)
		}
		if n := len(small.Requests()); n != 0 {
			t.Errorf("the other model was asked %d times in the pause, want none", n)
		}
		resumes(t, runner, moved)
		if got := follow(t, runner, moved, 0, 1); !containsLine(got, "model: from small") {
			t.Errorf("moved and resumed: got %q, want the other model's answer", got)
		}
	})
}

// A request that a gateway holds is left, and made again when the conversation is resumed.
func TestPause_LeavesTheGatewayThatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		model, provider := heldModel(t, 21*time.Second)
		h.model = model
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(20 * time.Second)
		pauses(t, runner, c)
		synctest.Wait()
		asked := len(provider.Requests())
		time.Sleep(time.Hour)
		if n := len(provider.Requests()); n != asked || view(t, runner, c).Turn == "" {
			t.Errorf("in the pause: %d requests, turn %q; want none and the turn", n-asked, view(t, runner, c).Turn)
		}
		if _, n := runner.Waits(9); n != 0 {
			t.Errorf("%d turns wait at a gateway, want none", n)
		}
		resumes(t, runner, c)
		if got := follow(t, runner, c, 0, 1); !containsLine(got, "sealed done") {
			t.Errorf("events: got %q, want an answer", got)
		}
	})
}

func TestPause_UnknownConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner, _ := newFixture(t).runner()
		for name, do := range map[string]func(context.Context, string) error{"pause": runner.Pause, "resume": runner.Resume} {
			if err := do(t.Context(), "none"); !errors.Is(err, conversation.ErrNotFound) {
				t.Errorf("%s: got %v, want %v", name, err, conversation.ErrNotFound)
			}
		}
	})
}
