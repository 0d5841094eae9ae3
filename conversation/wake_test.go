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

// upstream is a model that is down until somebody mends it.
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
func (u *upstream) wait(t *testing.T, h *house, host *conversation.Runner, turns int) (conversations []string) {
	h.model = u
	for range turns {
		c := h.create(host)
		h.say(host, c, "hello")
		conversations = append(conversations, c)
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	return conversations
}

// unsealed counts the turns that are in progress.
func unsealed(t *testing.T, host *conversation.Runner, conversations []string) (n int) {
	for _, c := range conversations {
		if turnOf(t, host, c) != "" {
			n++
		}
	}
	return n
}

func TestARecoveryWakesAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newHouse(t)
		host, end := h.host()
		all := u.wait(t, h, host, 20)
		end()
		host, _ = h.host() // it was not there when they were parked
		h.host()
		synctest.Wait()
		u.up.Store(true)
		if err := host.RetryNow(t.Context(), all[7]); err != nil {
			t.Fatalf("retry now: %v", err)
		}
		time.Sleep(10 * time.Second)
		if n := unsealed(t, host, all); n > 0 {
			t.Errorf("%d of %d still wait", n, len(all))
		}
	})
}

func TestAnOutageOfManyIsProbedByFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newHouse(t)
		host, _ := h.host()
		u.wait(t, h, host, 100)
		if asked := u.asked.Load(); asked > 200 {
			t.Errorf("%d requests in an hour of outage", asked)
		}
	})
}

func TestARecoveryThatIsNoneEndsTheWaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newHouse(t)
		host, _ := h.host()
		all := u.wait(t, h, host, 60)
		before := u.asked.Load()
		u.up.Store(true)
		if err := host.RetryNow(t.Context(), all[0]); err != nil {
			t.Fatalf("retry now: %v", err)
		}
		synctest.Wait()
		u.up.Store(false)
		time.Sleep(time.Minute)
		if asked := u.asked.Load() - before; asked > 12 {
			t.Errorf("%d requests after a recovery that lasted for a moment", asked)
		}
		if n := unsealed(t, host, all); n < 50 {
			t.Errorf("%d of %d wait", n, len(all))
		}
	})
}
