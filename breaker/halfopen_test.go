package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
)

// acquire has a new call ask for a permit, and returns what it was told once it was.
func acquire(t *testing.T, g *breaker.Breaker) <-chan error {
	t.Helper()
	told := make(chan error, 1)
	go func() {
		_, _, err := enter(t, g, opus)
		told <- err
	}()
	synctest.Wait()
	return told
}

func TestBreaker_NextProbeFollowsACanceledOneAtItsSpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		time.Sleep(time.Second)
		_, probe, err := enter(t, &g, opus)
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		next := acquire(t, &g)
		start := time.Now()
		probe.Report(&fault.Error{Kind: fault.Canceled})
		if err := <-next; err != nil || time.Since(start).Round(10*time.Millisecond) != 250*time.Millisecond {
			t.Errorf("after a canceled probe the next call: %v after %v, want a permit after 250ms", err, time.Since(start))
		}
	})
}

func TestBreaker_FaultOfAnEarlierCallIsSharedUnlessAProbeIsInProgress(t *testing.T) {
	for _, canceled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			_, earlier, _ := enter(t, &g, opus)
			fail(t, &g, opus, errBusy)
			time.Sleep(time.Second)
			_, probe, err := enter(t, &g, opus)
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			waits := acquire(t, &g)
			if canceled {
				probe.Report(&fault.Error{Kind: fault.Canceled})
			}
			earlier.Report(errBusy)
			synctest.Wait()
			if shared := len(waits) == 1; shared != canceled {
				t.Errorf("probe canceled %v: a call that waits for a probe shares an earlier call's fault: %v, want %v", canceled, shared, canceled)
			}
			if !canceled {
				probe.Report(nil)
			}
			<-waits
		})
	}
}

func TestBreaker_RetryNowWithoutWaitingCallsLetsTheNextProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		if got := says(t, &g, opus); got != "overloaded" {
			t.Fatalf("in a new outage a call gets %s, want overloaded", got)
		}
		g.RetryNow()
		if got := says(t, &g, opus); got != "goes" {
			t.Errorf("after RetryNow a call gets %s, want goes", got)
		}
	})
}

func TestBreaker_TwoSleepingCallsAreProbesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		u := down(50*time.Minute, errBusy)
		start, ended := time.Now(), make(chan error, 2)
		for range 2 {
			go func() { ended <- ask(t.Context(), &g, thrice(time.Hour), opus, u) }()
		}
		synctest.Wait()
		for range 2 {
			if err := <-ended; err != nil || time.Since(start) > time.Hour {
				t.Errorf("call: %v after %v, want an answer before its hour is over", err, time.Since(start))
			}
		}
		if u.total() < 2 || u.asked[0].Sub(start) != 30*time.Minute {
			t.Errorf("%d requests, the first after %v, want it after half an hour", u.total(), u.asked[0].Sub(start))
		}
	})
}

func TestBreaker_CallThatWaitsForAProbeGoesBesideSleepingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		u := down(time.Hour, errBusy)
		all := crowd(t, &g, u, 3)
		time.Sleep(time.Second)
		_, probe, err := enter(t, &g, opus)
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		waits := []<-chan error{acquire(t, &g), acquire(t, &g), acquire(t, &g)}
		if o := g.State().Outages[0]; o.Waiting != 6 {
			t.Errorf("three calls asleep and three that wait for a probe: Waiting is %d, want 6", o.Waiting)
		}
		start := time.Now()
		probe.Report(&fault.Error{Kind: fault.Canceled})
		if err := <-waits[0]; err != nil || time.Since(start).Round(10*time.Millisecond) != 250*time.Millisecond {
			t.Errorf("the first that waits: %v after %v, want a permit after 250ms", err, time.Since(start))
		}
		u.back()
		all.Wait()
	})
}
