package breaker_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// Where an upstream refuses a share of the tries at random, calls that share a breaker are lost no more often than without
// one, and with hardly more tries: that others are refused as well costs them none of their own.
func TestBreaker_FlakyUpstreamLosesNoMoreCalls(t *testing.T) {
	// run returns how many of the calls are lost, and with how many tries. Each call meets the same in its n-th try both ways.
	run := func(t *testing.T, p policy.Policy, share float64, calls int, g *breaker.Breaker) (lost, tries int) {
		synctest.Test(t, func(t *testing.T) {
			var all sync.WaitGroup
			var mu sync.Mutex
			for i := range calls {
				time.Sleep(10 * time.Millisecond)
				all.Go(func() {
					drawn := rand.New(rand.NewPCG(uint64(i), 3))
					e := retry.Retrier{Policy: p}
					if g != nil {
						c := g.Caller(breaker.Scope{})
						defer c.Close()
						e.Breaker = c
					}
					_, err := retry.Do(t.Context(), e, func(ctx context.Context, _ int) (int, error) {
						mu.Lock()
						tries++
						mu.Unlock()
						if drawn.Float64() < share {
							_ = retry.Sleep(ctx, 100*time.Millisecond)
							return 0, errBusy
						}
						return 1, retry.Sleep(ctx, 3*time.Second)
					})
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						lost++
					}
				})
			}
			all.Wait()
		})
		return lost, tries
	}
	for _, preset := range []string{"simple", "interactive", "patient"} {
		p, _ := policy.Preset(preset)
		for _, share := range []float64{0.3, 0.66} {
			for _, calls := range []int{10, 30, 100} {
				alone, aloneTries := run(t, p, share, calls, nil)
				lost, tries := run(t, p, share, calls, new(breaker.Breaker))
				if lost > alone+calls/100 || tries > aloneTries+aloneTries/10 {
					t.Errorf("%s, %d calls, %v of the tries refused: %d lost with %d tries, want hardly more than alone: %d with %d", preset, calls, share, lost, tries, alone, aloneTries)
				}
			}
		}
	}
}
