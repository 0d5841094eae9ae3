package breaker_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
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
		if _, _, peak := g.Traffic(); peak != 0 {
			t.Errorf("the next outage begins with a peak of %.1f, want 0", peak)
		}
	})
}
