package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

func TestFallback_FollowsTheEndOfPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{
			Model:    &llmtest.Model{Then: llmtest.Fails(busy)},
			Fallback: []llm.Model{llmtest.New(small, llmtest.Fails(busy), llmtest.Says("hi"))},
			Patience: 20 * time.Second, Retry: patient(),
		}
		play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...).expect(t, `
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 10s: HTTP 529: busy
			retry 2 in 5s: HTTP 529: busy
			switched from  to other/small: HTTP 529: busy
			retry 0 in 5s: HTTP 529: busy
			recovered after 1, 5s
			… hi
			other/small: hi [Text] stop
			usage 10 1
			sealed done: 4 retries, 25000ms, 10 in, 1 out`)
	})
}

func TestFallback_FollowsAHintBeyondPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: 5 * time.Minute}
		first := llmtest.New(large, llmtest.Fails(busy), llmtest.Fails(limited))
		w := agent.Agent{Model: first, Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))}, Patience: time.Minute, Retry: patient()}
		play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...).expect(t, `
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			switched from acme/large to other/small: HTTP 429: slow down
			… hi
			other/small: hi [Text] stop
			usage 10 1
			sealed done: 1 retries, 5000ms, 10 in, 1 out`)
	})
}

func TestFallback_PatienceIsPerModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &llmtest.Model{Then: llmtest.Fails(busy)}
		w := agent.Agent{
			Model: down, Fallback: []llm.Model{down, llmtest.New(small, llmtest.Says("hi"))},
			Patience: 7 * time.Second, Retry: patient(),
		}
		play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...).expect(t, `
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 2s: HTTP 529: busy
			switched from  to : HTTP 529: busy
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 2s: HTTP 529: busy
			switched from  to other/small: HTTP 529: busy
			… hi
			other/small: hi [Text] stop
			usage 10 1
			sealed done: 4 retries, 14000ms, 10 in, 1 out`)
	})
}

func TestFallback_WithoutPatienceIsImmediate(t *testing.T) {
	for _, f := range []*fault.Error{busy, cut, spent, {Kind: fault.Unavailable, Message: "fetch failed"}, {Kind: fault.UpstreamTimeout, Status: 504}} {
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(f)), Retry: patient(), Fallback: []llm.Model{
			llmtest.New(small, llmtest.Fails(f)), llmtest.New(small, llmtest.Says("hi")),
		}}
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
			if all := strings.Join(p.lines, "\n"); strings.Count(all, "switched") != 2 || strings.Contains(all, "retry 0") || time.Since(began) > 0 {
				t.Errorf("%v: events %q", f, p.lines)
			}
		})
	}
}

func TestFallback_FollowsTheEndOfThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{
			Model:    &llmtest.Model{Then: llmtest.Fails(busy)},
			Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))},
			Patience: time.Hour, Retry: retry.Retrier{Policy: policy.Simple()},
		}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		if p.lines[5] != "switched from  to other/small: HTTP 529: busy" || p.lines[6] != "… hi" {
			t.Errorf("events %q; want event 5 \"switched from  to other/small: HTTP 529: busy\", event 6 \"… hi\"", p.lines)
		}
	})
}

func TestFallback_NotForFaultsOfTheRequest(t *testing.T) {
	for _, f := range []*fault.Error{denied, long, {Kind: fault.Invalid}, {Kind: fault.Refused}, {Kind: fault.Unknown}} {
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(f)), Retry: patient(), Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))}}
		if f.Kind == fault.Unknown {
			w.Retry = retry.Retrier{Policy: policy.Interactive()}
		}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		if len(w.Fallback[0].(*llmtest.Model).Requests()) != 0 {
			t.Errorf("%v: events %q", f, p.lines)
		}
	}
}

func TestFallback_NextTurnBeginsWithTheFirstModel(t *testing.T) {
	w := agent.Agent{
		Model:    llmtest.New(large, llmtest.Fails(busy), llmtest.Says("back")),
		Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))},
	}
	p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
	p = play(t.Context(), w, turn.Replay(p.kept...), turn.Begin("", "again")...)
	if p.lines[2] != "… back" {
		t.Errorf("events %q; want event 2 \"… back\"", p.lines)
	}
}

func TestFallback_ShortenedWaitIsNoEndOfPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{
			Model:    llmtest.New(large, llmtest.Fails(busy), llmtest.Says("back")),
			Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))},
			Patience: 3 * time.Second, Retry: patient(),
		}
		w.Retry.Breaker = opens(time.Second)
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		if p.lines[2] != "retry 0 in 3s: HTTP 529: busy" || p.lines[4] != "… back" {
			t.Errorf("events %q; want event 2 \"retry 0 in 3s: HTTP 529: busy\", event 4 \"… back\"", p.lines)
		}
	})
}

// closed is a breaker at which a command gave up every call.
type closed struct{ opens }

func (closed) Wait(context.Context, time.Duration) error {
	return retry.ErrGivenUp
}

func TestFallback_NotAfterGiveUpByCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{
			Model: llmtest.New(large, llmtest.Fails(busy)), Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))},
			Patience: time.Hour, Retry: patient(),
		}
		w.Retry.Breaker = closed{}
		play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...).expect(t, `
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			error of acme/large, overloaded: HTTP 529: busy (0 retries, 0ms)
			sealed failed: 0 retries, 0ms, 0 in, 0 out`)
	})
}

// termsOf are terms that hold at the large model, and at others none.
func termsOf(at agent.Terms) func(llm.Name) agent.Terms {
	return func(name llm.Name) agent.Terms {
		if name == large {
			return at
		}
		return agent.Terms{}
	}
}

func TestFallback_TermsHoldAtEachModel(t *testing.T) {
	hasty := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}}
	tooLong := &fault.Error{Kind: fault.TooLong, Status: 400, Message: "too long"}
	refuses := llmtest.Parts(llm.End{Reason: llm.Refusal})
	for _, tt := range []struct {
		name    string
		replies []llmtest.Answer
		terms   agent.Terms
		asked   int           // how often the first model was
		took    time.Duration // until the second one was
	}{
		{"its policy gives up", []llmtest.Answer{llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy)}, agent.Terms{Policy: hasty, Patience: agent.Forever}, 3, 2 * time.Second},
		{"its patience ends", []llmtest.Answer{llmtest.Fails(busy)}, agent.Terms{Policy: hasty}, 1, 0},
		{"a fault that leaves at once", []llmtest.Answer{llmtest.Fails(busy)}, agent.Terms{Policy: hasty, Patience: agent.Forever, Immediately: fault.Set(0).With(fault.Overloaded)}, 1, 0},
		{"a final fault that leaves at once", []llmtest.Answer{llmtest.Fails(tooLong)}, agent.Terms{Policy: hasty, Patience: agent.Forever, Immediately: fault.Set(0).With(fault.TooLong)}, 1, 0},
		{"a refusal that leaves at once", []llmtest.Answer{refuses}, agent.Terms{Policy: hasty, Patience: agent.Forever, Immediately: fault.Set(0).With(fault.Refused)}, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			first := llmtest.New(large, tt.replies...)
			w := agent.Agent{Model: first, Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))}, Terms: termsOf(tt.terms)}
			began := time.Now()
			text := strings.Join(play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...).lines, "\n")
			if !strings.Contains(text, "switched from "+large.String()+" to "+small.String()) || !strings.Contains(text, "sealed done") || len(first.Requests()) != tt.asked || time.Since(began) != tt.took {
				t.Errorf("%s: the first was asked %d times and it took %v, want %d and %v; events:\n%s", tt.name, len(first.Requests()), time.Since(began), tt.asked, tt.took, text)
			}
		})
	}
}
