package breaker_test

import (
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

func TestBreaker_CountsCallsThatGoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		meet(t, &g, opus, nil, nil, nil)
		if got, _, _ := g.Traffic(); got != 3 {
			t.Errorf("three calls at once are counted as %v", got)
		}
	})
}

func TestBreaker_UsualTrafficIsMeasuredWithoutAnOutage(t *testing.T) {
	for _, known := range []bool{false, true} { // whether another model has had a fault
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			if known {
				meet(t, &g, breaker.Scope{Model: "sonnet"}, errBusy)
			}
			for range 600 {
				meet(t, &g, opus, nil)
				time.Sleep(100 * time.Millisecond)
			}
			if _, usual, peak := g.Traffic(); usual < 9 || usual > 11 || peak != 0 {
				t.Errorf("fault known %v: %.1f calls per second usually, %.1f at the peak; want 10 and 0", known, usual, peak)
			}
		})
	}
}

func TestBreaker_CallsCountWhenTheyComeAndNotWhenTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := newRandomFaults(0, 6*time.Second)
		u.arrive(t, &g, 20*time.Second)
		if _, usual, _ := g.Traffic(); usual < 195 || usual > 205 {
			t.Errorf("two hundred calls a second, of six seconds each, are counted as %.1f a second", usual)
		}
		u.all.Wait()
	})
}

func TestBreaker_EachOutageHasItsOwnPeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		for range 40 {
			says(t, &g, opus)
		}
		if _, _, peak := g.Traffic(); math.Abs(peak-31.6) > 0.1 { // 45 - 2√45, with those that opened the circuit
			t.Errorf("forty calls at once in an outage are a peak of %.1f, want 31.6", peak)
		}
		time.Sleep(time.Minute)
		meet(t, &g, opus, nil)
		time.Sleep(time.Minute)
		fail(t, &g, opus, errBusy)
		if _, _, peak := g.Traffic(); math.Abs(peak-0.53) > 0.01 { // 5 - 2√5
			t.Errorf("the next outage begins with a peak of %.2f, want 0.53, of those that opened it", peak)
		}
	})
}

func TestBreaker_CrowdBeforeTheFirstFaultCounts(t *testing.T) {
	for _, sick := range []time.Duration{100 * time.Millisecond, 1500 * time.Millisecond, 8 * time.Second} { // all have asked before the first is refused
		for _, asked := range []bool{false, true} { // before, a minute ago
			synctest.Test(t, func(t *testing.T) {
				var g breaker.Breaker
				if asked {
					meet(t, &g, opus, nil)
					time.Sleep(time.Minute)
				}
				u := down(5*time.Minute, errBusy)
				u.sick = sick
				var all sync.WaitGroup
				for range 200 {
					all.Go(func() {
						if err := ask(t.Context(), &g, policy.Patient(), opus, u); err != nil {
							t.Errorf("the call ended with %v", err)
						}
					})
				}
				all.Wait()
				if _, usual, peak := g.Traffic(); usual > 20 || math.Abs(peak-171.7) > 0.1 { // 200 - 2√200
					t.Errorf("refused after %v, asked before %v: 200 calls at once are %.1f a second usually, %.1f at the peak; want at most 20, and 171.7", sick, asked, usual, peak)
				}
				u.mu.Lock()
				defer u.mu.Unlock()
				probe := slices.IndexFunc(u.asked, func(at time.Time) bool { return !at.Before(u.to) })
				if took := time.Since(u.asked[probe]); took > time.Second {
					t.Errorf("refused after %v, asked before %v: the last of 200 calls was answered %v after the probe", sick, asked, took)
				}
			})
		}
	}
}
