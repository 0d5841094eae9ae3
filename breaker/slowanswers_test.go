package breaker_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/retry"
)

// Where a part of the tries is refused, and the others take too long for any to be answered so far, it is no outage: those
// that are not refused interrupt the row of refusals. Five in a row may come by chance before any could have been answered.
// That is over as soon as a probe is not refused.
func TestBreaker_PartialFailureBeforeTheFirstAnswerIsNoOutage(t *testing.T) {
	for _, every := range []time.Duration{30 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, time.Second} {
		for _, share := range []float64{0.1, 0.3} {
			open, worlds := time.Duration(0), 12
			for n := range worlds {
				synctest.Test(t, func(t *testing.T) {
					var g breaker.Breaker
					u := newRandomFaults(share, 2*time.Minute)
					u.calls = uint64(n) << 32 // others are refused
					longest, row := 0, 0
					for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(every) {
						u.all.Go(func() { u.call(t, &g) })
						if row++; !slices.ContainsFunc(g.State().Outages, func(o breaker.Outage) bool { return !o.Recovering }) {
							row = 0
						} else {
							open += every
						}
						longest = max(longest, row)
					}
					if most := time.Duration(longest) * every; most > 5*time.Second {
						t.Errorf("a call each %v, %v of them refused, no answer so far: an outage for %v on end, want 5s at most", every, share, most)
					}
					u.set(0)
					u.all.Wait()
				})
			}
			t.Logf("a call each %v, %v of them refused: an outage for %v in %d times 90 s", every, share, open, worlds)
		}
	}
}

// Where one of the tries that are not refused turns out to be silent, refusals may take as long: the others interrupt no
// row.
func TestBreaker_SilentTriesBesideRefusalsAreAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		begin := func() (*breaker.Caller, retry.Permit) {
			c := g.Caller(opus)
			p, err := c.Acquire(t.Context())
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			return c, p
		}
		var silent retry.Permit
		for n := range 12 {
			c, p := begin()
			defer c.Close()
			if n%2 == 0 {
				time.Sleep(200 * time.Millisecond)
				p.Report(errBusy)
			} else if silent == nil {
				silent = p
			}
			time.Sleep(time.Second)
		}
		if g.Degraded() {
			t.Error("after six refusals beside six tries without an answer so far the circuit is open, want closed")
		}
		silent.Report(errSilent)
		if !g.Degraded() {
			t.Error("after one of these was silent the circuit is closed, want open")
		}
	})
}
