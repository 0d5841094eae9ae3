package npm_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

func TestGateway_LeavingEndsTheRequest(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, hurried(), simulator.Script{Then: simulator.Silence{}})
			done, abort := w.node.call(t, c.name, w.url, false)
			within(t, w.arrived, "a request at the provider")
			abort()
			if got := w.of(done); got.Error == "" || got.Text+got.Stop != "" {
				t.Errorf("call result %+v", got)
			}
			within(t, w.gone, "its end")
			w.check(1, "silence")
		})
	}
}

func TestGateway_LeavingEndsTheWait(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			patient := policy.Patient()
			patient.Backoff = policy.Backoff{Steps: []time.Duration{time.Hour}}
			w := newFixture(t, patient, simulator.Script{Then: simulator.Status{Code: 529}})
			done, abort := w.node.call(t, c.name, w.url, false)
			w.until("a wait", waits)
			abort()
			if got := w.of(done); got.Error == "" || got.Text+got.Stop != "" {
				t.Errorf("call result %+v", got)
			}
			w.until("the client to have left", left)
			w.check(1, "529")
		})
	}
}

func TestGateway_LeavingEndsTheAnswer(t *testing.T) {
	for _, c := range calls {
		if !c.streams() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, hurried(), simulator.Script{Pace: 200 * time.Millisecond})
			done, _ := w.node.call(t, c.name, w.url, true)
			if got := w.of(done); got.Text == "" || got.Text == answer || got.Stop != "" {
				t.Errorf("call result %+v", got)
			}
			within(t, w.gone, "the end of the request at the provider")
			w.check(1, "ok")
		})
	}
}
