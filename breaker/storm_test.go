package breaker_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// TestBreaker_FiveHundredCallsAreAnsweredWithinASecond lets 500 callers arrive in half
// a second at an upstream that fails for five.
func TestBreaker_FiveHundredCallsAreAnsweredWithinASecond(t *testing.T) {
	for name, p := range map[string]policy.Policy{"patient": policy.Patient(), "interactive": policy.Interactive()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g breaker.Breaker
				u := down(5*time.Second, errBusy)
				u.slow = 10 * time.Millisecond
				var all sync.WaitGroup
				for range 500 {
					all.Go(func() {
						if err := ask(t.Context(), &g, p, breaker.Scope{}, u); err != nil {
							t.Errorf("the call ended with %v", err)
						}
					})
					time.Sleep(time.Millisecond)
				}
				all.Wait()
				late, peak := time.Since(u.to), u.peak(u.to, 100*time.Millisecond)
				t.Logf("%d requests, last answer %v after recovery, at most %d per 100ms", len(u.asked), late, peak)
				if len(u.asked) > 600 || late > time.Second || peak > 100 {
					t.Error("want at most 600, 1s and 100")
				}
				quiet(t, &g)
			})
		})
	}
}
