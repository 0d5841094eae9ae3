package conversation_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// upstream is a model that is down until up is set.
type upstream struct {
	up    atomic.Bool
	asked atomic.Int32
}

func (*upstream) Name() llm.Name { return large }

func (u *upstream) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	u.asked.Add(1)
	if u.up.Load() {
		return llmtest.Says("hi")(ctx, q)
	}
	return llmtest.Fails(busy)(ctx, q)
}

// wait begins turns that wait for an upstream for an hour of outage.
func (u *upstream) wait(t *testing.T, h *fixture, runner *conversation.Runner, turns int) (conversations []string) {
	h.model = u
	for range turns {
		c := h.create(runner)
		h.say(runner, c, "hello")
		conversations = append(conversations, c)
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	return conversations
}

// unsealed counts the turns that are in progress.
func unsealed(t *testing.T, runner *conversation.Runner, conversations []string) (n int) {
	for _, c := range conversations {
		if turnOf(t, runner, c) != "" {
			n++
		}
	}
	return n
}

func TestRunner_RecoveryWakesParkedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		runner, end := h.runner()
		all := u.wait(t, h, runner, 20)
		end()
		runner, _ = h.runner() // it was not there when they were parked
		h.runner()
		synctest.Wait()
		u.up.Store(true)
		if err := runner.RetryNow(t.Context(), all[7]); err != nil {
			t.Fatalf("retry now: %v", err)
		}
		time.Sleep(10 * time.Second)
		if n := unsealed(t, runner, all); n > 0 {
			t.Errorf("%d of %d still wait", n, len(all))
		}
	})
}

func TestRunner_FewTurnsProbeOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		runner, _ := h.runner()
		u.wait(t, h, runner, 100)
		if asked := u.asked.Load(); asked > 200 {
			t.Errorf("%d requests in an hour of outage", asked)
		}
	})
}

func TestRunner_RelapseEndsSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		runner, _ := h.runner()
		all := u.wait(t, h, runner, 60)
		before := u.asked.Load()
		u.up.Store(true)
		if err := runner.RetryNow(t.Context(), all[0]); err != nil {
			t.Fatalf("retry now: %v", err)
		}
		synctest.Wait()
		u.up.Store(false)
		time.Sleep(time.Minute)
		if asked := u.asked.Load() - before; asked > 12 {
			t.Errorf("%d requests after a recovery that lasted for a moment", asked)
		}
		if n := unsealed(t, runner, all); n < 50 {
			t.Errorf("%d of %d wait", n, len(all))
		}
	})
}
