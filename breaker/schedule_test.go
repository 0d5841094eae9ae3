package breaker_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// Calls that meet an outage beside each other end when each would have ended alone, with hardly more requests than
// they would have made. Two that took turns as probes have held each other for a minute.
func TestBreaker_OutageEndsCallsAtTheEndOfTheirSchedule(t *testing.T) {
	brief := policy.Policy{Retries: 3, Backoff: policy.Backoff{Steps: []time.Duration{200 * time.Millisecond}}}
	for _, tt := range []struct {
		name   string
		policy policy.Policy
		beside int           // patient calls
		within time.Duration // after the end of its own waits
	}{
		{"simple", policy.Simple(), 0, 200 * time.Millisecond},
		{"simple beside patient calls", policy.Simple(), 20, 200 * time.Millisecond},
		{"interactive", policy.Interactive(), 0, time.Minute / 3}, // ±10 %
		{"brief", brief, 0, 5 * time.Second},                      // such a row of refusals may be chance
	} {
		waits := time.Duration(0)
		for n := range tt.policy.Retries {
			waits += tt.policy.Backoff.At(n+1, 0.5)
		}
		for _, f := range []*fault.Error{errBroken, errBusy, errRefused} {
			for _, calls := range []int{1, 2, 3, 10} {
				for apart := time.Duration(0); apart <= 500*time.Millisecond; apart += 50 * time.Millisecond {
					synctest.Test(t, func(t *testing.T) {
						what := fmt.Sprintf("%s: %d calls %v apart, %v", tt.name, calls, apart, f)
						var g breaker.Breaker
						u := down(time.Hour, f)
						u.sick = 20 * time.Millisecond
						var all, others sync.WaitGroup
						for range tt.beside {
							others.Go(func() { _ = ask(t.Context(), &g, policy.Patient(), breaker.Scope{}, u) })
						}
						for range calls {
							all.Go(func() {
								begun := time.Now()
								err := ask(t.Context(), &g, tt.policy, breaker.Scope{}, u)
								end, _ := errors.AsType[*retry.Error](err)
								if took := time.Since(begun); end == nil || end.Stop != policy.Exhausted || took > waits+tt.within {
									t.Errorf("%s: ended after %v with %v, want exhausted after %v", what, took, err, waits)
								}
							})
							time.Sleep(apart)
						}
						all.Wait()
						if due := calls * (tt.policy.Retries + 1); tt.beside == 0 && u.total() > due+2 {
							t.Errorf("%s: %d requests, want hardly more than %d", what, u.total(), due)
						}
						u.back()
						others.Wait()
						quiet(t, &g)
					})
				}
			}
		}
	}
}

// In an old outage probes are half a minute apart: what failed before a call came is no reason to end it.
func TestBreaker_CallThatComesLateInAnOutageIsAnsweredAfterIt(t *testing.T) {
	for _, p := range []policy.Policy{policy.Simple(), policy.Interactive()} {
		for before := time.Second; before <= 30*time.Second; before += time.Second {
			synctest.Test(t, func(t *testing.T) {
				var g breaker.Breaker
				u := down(10*time.Minute, errBusy)
				var others sync.WaitGroup
				for range 20 {
					others.Go(func() { _ = ask(t.Context(), &g, policy.Patient(), breaker.Scope{}, u) })
				}
				time.Sleep(10*time.Minute - before)
				if err := ask(t.Context(), &g, p, breaker.Scope{}, u); err != nil {
					t.Errorf("a call with %d retries, %v before the end: %v, want an answer", p.Retries, before, err)
				}
				others.Wait()
			})
		}
	}
}
