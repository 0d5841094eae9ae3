package breaker_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// Where an upstream refuses a share of the tries at random, calls that share a breaker are lost no more often than without
// one, and with hardly more tries: that others are refused as well costs them none of their own.
func TestBreaker_FlakyUpstreamLosesNoMoreCalls(t *testing.T) {
	// run adds up how many of the calls are lost, and with how many tries. Each call meets the same in its n-th try both ways.
	run := func(t *testing.T, p policy.Policy, share float64, worlds, calls int, newBreaker func() *breaker.Breaker) (lost, tries int) {
		for n := range worlds {
			synctest.Test(t, func(t *testing.T) {
				u, g := newRandomFaults(share, 3*time.Second), newBreaker()
				u.calls = uint64(n) << 32 // others are refused
				var failed atomic.Int32
				for range calls {
					u.all.Go(func() {
						if u.ask(t.Context(), g, p) != nil {
							failed.Add(1)
						}
					})
					time.Sleep(10 * time.Millisecond)
				}
				u.all.Wait()
				lost, tries = lost+int(failed.Load()), tries+u.tries
			})
		}
		return lost, tries
	}
	for _, preset := range []string{"simple", "interactive", "patient"} {
		p, _ := policy.Preset(preset)
		for _, share := range []float64{0.3, 0.66} {
			for _, calls := range []int{10, 30, 100} {
				worlds := max(40, 4000/calls) // of fewer calls, one in a hundred is chance
				alone, aloneTries := run(t, p, share, worlds, calls, func() *breaker.Breaker { return nil })
				lost, tries := run(t, p, share, worlds, calls, func() *breaker.Breaker { return new(breaker.Breaker) })
				t.Logf("%s, %d calls, %v of the tries refused: %d lost with %d tries; alone %d with %d", preset, calls*worlds, share, lost, tries, alone, aloneTries)
				if lost > alone+calls*worlds/100 || tries > aloneTries+aloneTries/10 {
					t.Errorf("%s, %d calls, %v of the tries refused: %d lost with %d tries, want hardly more than alone: %d with %d", preset, calls*worlds, share, lost, tries, alone, aloneTries)
				}
			}
		}
	}
}
