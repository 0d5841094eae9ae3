package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// Five faults of an earlier process open the circuit, as five of this one do, until a call is answered.
func TestBreaker_RecalledFaultsOpenTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := breaker.New("up")
		for n := 1; n <= 5; n++ {
			g.Recall(opus, errBusy)
			if got := len(g.State().Outages); (got == 1) != (n == 5) {
				t.Errorf("after %d recalled faults: %d outages, want one from five on", n, got)
			}
		}
		u := down(0, errBusy)
		time.Sleep(time.Minute)
		if err := ask(t.Context(), g, policy.Patient(), opus, u); err != nil || len(u.asked) != 1 {
			t.Errorf("the probe: %v after %d tries, want an answer to the first", err, len(u.asked))
		}
		for range 5 {
			g.Recall(opus, errBusy)
		}
		if got := g.State().Outages; len(got) > 0 && !got[0].Recovering {
			t.Errorf("faults recalled after an answer: %+v, want no outage", got)
		}
	})
}
