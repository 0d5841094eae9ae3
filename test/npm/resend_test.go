package npm_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// An SDK that times out in a wait sends its request again. That one continues in the wait: its retry stays at
// the same time, and what it has waited is the time that has passed.
func TestResend_GoesOnInTheSameWait(t *testing.T) {
	t.Parallel()
	p := policy.Patient()
	// The SDK gives up after 9 s and asks again once: it may come back late where processors are busy.
	p.Backoff = policy.Backoff{Steps: []time.Duration{16 * time.Second}}
	w := newFixture(t, p, script(t, "529"))
	done, _ := w.node.call(t, "openai.chat impatient", w.url, false)
	w.until("a wait", waits)
	before := w.waiting()
	at := time.Now()
	w.until("the client to have left", left)
	w.until("a wait", waits)
	after := w.waiting()
	passed := time.Since(at)
	if len(before) != 1 || len(after) != 1 || before[0].ID == after[0].ID {
		t.Fatalf("before %+v, after %+v, want a wait of one request and one of the next", before, after)
	}
	if off := after[0].Waited - before[0].Waited - passed; off.Abs() > time.Second {
		t.Errorf("in %v the request has waited %v, then %v; want the clock's time", passed, before[0].Waited, after[0].Waited)
	}
	if off := after[0].Due.Sub(before[0].Due); off.Abs() > time.Second {
		t.Errorf("the retry has moved by %v, from %v to %v", off, before[0].Due, after[0].Due)
	}
	if got := w.of(done); got.Text != answer {
		t.Errorf("call result %+v", got)
	}
	w.check(2, "529 ok")
}

// waiting lists the waits once they have begun: the event that announces one comes a moment before.
func (w *fixture) waiting() []gateway.Wait {
	w.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for range 500 {
		all := w.gateway.Waits()
		if !slices.ContainsFunc(all, func(w gateway.Wait) bool { return w.Due.IsZero() }) {
			return all
		}
		within(w.t, look.C, "a moment")
	}
	w.t.Fatalf("no wait has begun: %+v", w.gateway.Waits())
	return nil
}
