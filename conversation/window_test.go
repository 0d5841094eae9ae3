package conversation_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
)

// newWindow returns a fixture whose agents have few retries and wait for usage windows.
func newWindow(t *testing.T, answers ...llmtest.Answer) *fixture {
	h := newFixture(t, answers...)
	usual := h.config.Agent
	h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
		a, err := usual(ctx, s)
		a.Retry.Policy.Retries = 1
		a.Retry.Policy.Quota = policy.Quota{Wait: policy.QuotaUntilReset, Max: 5 * time.Hour}
		return a, err
	}
	return h
}

// spentUntil is the refusal of a usage window.
func spentUntil(opens time.Time) *fault.Error {
	return &fault.Error{Kind: fault.Quota, Status: 429, Message: "usage limit reached", ResetAt: opens, Window: true}
}

func TestWindow_TurnOutlastsItsRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		opens := began.Add(3*time.Hour + 5*time.Minute)
		answer := llmtest.Answer(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
			if time.Now().Before(opens) {
				return llmtest.Fails(spentUntil(opens))(ctx, r)
			}
			return llmtest.Says("hi")(ctx, r)
		})
		h := newWindow(t, slices.Repeat([]llmtest.Answer{answer}, 20)...)
		runner, end := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(7 * time.Minute)
		if v, err := runner.Get(t.Context(), c); err != nil || v.Wait == nil || v.Wait.Due.Sub(opens) > 10*time.Second || !v.Wait.Verdict.Window || !v.Wait.Fault.ResetAt.Equal(opens) || v.Wait.Run.Slept != 0 {
			t.Errorf("%+v, %v; want a wait for the window until %v", v.Wait, err, opens)
		}
		if err := runner.RetryNow(t.Context(), c); err != nil {
			t.Errorf("retry now: %v", err)
		}
		time.Sleep(53 * time.Minute)
		end()
		time.Sleep(30 * time.Minute)
		runner, _ = h.runner()
		synctest.Wait()
		if waits, _ := runner.Waits(1); len(waits) != 1 || !waits[0].Fault.Window || !waits[0].Verdict.Window || waits[0].Due.Sub(opens) > 10*time.Second {
			t.Errorf("%+v, want the wait for the window in the list", waits)
		}
		got := follow(t, runner, c, 0, 1)
		if late := time.Since(opens); late < 0 || late > time.Minute {
			t.Errorf("it went on %v after the window opened, want at once", late)
		}
		if last := got[len(got)-1]; !strings.HasPrefix(last, "sealed done") {
			t.Errorf("%q, want an answer: tries in the window cost no retry", got)
		}
		if n := len(h.model.(*llmtest.Model).Requests()); n < 10 || n > 15 {
			t.Errorf("%d requests, want one each quarter of an hour", n)
		}
	})
}

// A reset that is stated far too late keeps a turn for a quarter of an hour.
func TestWindow_WrongResetHoldsForAQuarterOfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h := newWindow(t, llmtest.Fails(spentUntil(began.Add(5*time.Hour))), llmtest.Says("hi"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		follow(t, runner, c, 0, 1)
		if took := time.Since(began); took > 15*time.Minute+30*time.Second {
			t.Errorf("answered after %v, want a quarter of an hour", took)
		}
	})
}

// A turn may be told to wait for a window that its policy does not wait for.
func TestWaitForWindow_OutlastsThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opens := time.Now().Add(26 * time.Hour)
		h := newFixture(t)
		h.model = llmtest.New(large, slices.Repeat([]llmtest.Answer{func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
			if time.Now().Before(opens) {
				return llmtest.Fails(spentUntil(opens))(ctx, r)
			}
			return llmtest.Says("hi")(ctx, r)
		}}, 200)...)
		usual := h.config.Agent
		h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
			a, err := usual(ctx, s)
			a.Retry.Policy = policy.Policy{}
			return a, err
		}
		runner, end := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		follow(t, runner, c, 0, 1)
		if id, err := runner.WaitForWindow(t.Context(), c, "again"); err != nil || id != "again" {
			t.Fatalf("wait for window: got id %q, error %v, want again", id, err)
		}
		time.Sleep(time.Hour)
		end() // the next runner knows of it, too
		runner, _ = h.runner()
		follow(t, runner, c, 0, 2)
		if late := time.Since(opens); late < 0 || late > time.Minute {
			t.Errorf("answered %v after the window opened, want at once", late)
		}
	})
}
