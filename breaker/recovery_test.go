package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// crowd has n patient callers ask an upstream that is down, and waits until all
// of them are asleep.
func crowd(t *testing.T, g *breaker.Breaker, u *upstream, n int) *sync.WaitGroup {
	t.Helper()
	before := g.State().Waiting
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := ask(t.Context(), g, policy.Patient(), opus, u); err != nil {
				t.Errorf("the call ended with %v", err)
			}
		})
	}
	synctest.Wait()
	if st := g.State(); st.Waiting != before+n {
		t.Fatalf("%d wait", st.Waiting)
	}
	return &all
}

func TestBreaker_RecoveryWakesAllCallsInASlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Hour, errBusy)
		all := crowd(t, &g, u, 200)
		time.Sleep(5 * time.Minute)
		u.back()
		for u.since(u.to) == 0 { // the probe
			time.Sleep(time.Millisecond)
		}
		begun := time.Now()
		all.Wait()
		steps := map[int]int{}
		for _, at := range u.asked[len(u.asked)-u.since(begun.Add(-time.Millisecond)):] {
			steps[int(at.Sub(begun.Add(-time.Millisecond))/(25*time.Millisecond))]++
		}
		// the probe and 1, then 2, 4, and at the most 1.6 times the other 199 in a second
		if got := fmt.Sprint(steps[0], steps[1], steps[2], steps[3], steps[4]); got != "2 2 4 7 8" {
			t.Errorf("per 25ms: %s", got)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the last after %v", took)
		}
		quiet(t, &g)
	})
}

func TestBreaker_FaultSlowsTheSlowStartAndFiveEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(5*time.Minute, errBusy)
		all := crowd(t, &g, u, 400)
		time.Sleep(5 * time.Minute)
		for u.since(u.to) < 30 {
			time.Sleep(time.Millisecond)
		}
		again := time.Now()
		u.down(again, again.Add(time.Minute))
		time.Sleep(30 * time.Second)
		n := u.since(again) - u.since(again.Add(time.Second))
		if st := g.State(); n > 8+32 || len(st.Outages) != 1 || st.Outages[0].Recovering || st.Waiting < 300 {
			t.Errorf("%d went on into the second outage: %+v", n, st)
		}
		all.Wait()
		quiet(t, &g)
	})
}

func TestBreaker_NewCallsQueueBehindTheSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Minute, errBusy)
		all := crowd(t, &g, u, 100)
		time.Sleep(time.Minute)
		for u.since(u.to) < 2 {
			time.Sleep(time.Millisecond)
		}
		if st := g.State(); len(st.Outages) != 1 || !st.Outages[0].Recovering || st.Outages[0].Waiting != st.Waiting || st.Waiting < 90 {
			t.Errorf("in a slow start of 100 calls, of which two went: %+v", st)
		}
		var why atomic.Value
		c := g.Caller(opus)
		defer c.Close()
		c.OnBlock = func(b breaker.BlockReason) { why.Store(b) }
		unblocked := 0
		c.OnUnblock = func() { unblocked++ }
		if _, err := c.Acquire(t.Context()); err != nil || why.Load() != breaker.InSlowStart || unblocked != 1 {
			t.Errorf("%v, blocked by %v, unblocked %d times", err, why.Load(), unblocked)
		}
		if st := g.State(); st.Waiting != 0 {
			t.Errorf("%d waited behind a newcomer", st.Waiting)
		}
		all.Wait()
	})
}

func TestBreaker_SlowStartKeepsUpWithTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Minute, errBusy)
		all := crowd(t, &g, u, 10)
		time.Sleep(time.Minute)
		var worst time.Duration
		var mu sync.Mutex
		for range 3000 { // 100 in a second, that the breaker did not know before
			all.Go(func() {
				begun := time.Now()
				_ = ask(t.Context(), &g, policy.Patient(), opus, u)
				mu.Lock()
				defer mu.Unlock()
				if begun.Sub(u.to) > 25*time.Second {
					worst = max(worst, time.Since(begun))
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		all.Wait()
		if worst > 0 {
			t.Errorf("twenty-five seconds after the outage a call still waited %v", worst)
		}
	})
}

// TestBreaker_FailedEarlyProbeDoesNotCount: early probes go out while the callers sleep, but each
// caller's own run is what it would be alone.
func TestBreaker_FailedEarlyProbeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(40*time.Minute, errBusy)
		begun := time.Now()
		told := make([][]policy.Wait, 20)
		ends := make([]retry.Try, 20)
		var all sync.WaitGroup
		for i := range told {
			all.Go(func() {
				c := g.Caller(opus)
				defer c.Close()
				e := retry.Retrier{Policy: policy.Patient(), Breaker: c, OnWait: func(w policy.Wait) { told[i] = append(told[i], w) }, OnTry: func(t retry.Try) { ends[i] = t }}
				_, _ = retry.Do(t.Context(), e, u.try)
			})
		}
		all.Wait()
		waits := []time.Duration{5, 10, 30, 60, 300, 600, 900, 1800}
		for i, waited := range told {
			for i, n := range waited {
				if n.Run.Tries != i+1 || n.Verdict.Wait != waits[i]*time.Second {
					t.Fatalf("wait %d is %+v, want %ds", i, n, waits[i])
				}
			}
			if last := ends[i]; last.Fault != nil || last.Run.Tries != 8 || last.Waited > time.Since(begun) || last.Waited < 40*time.Minute-time.Second {
				t.Fatalf("recovered: %+v after %v", last, time.Since(begun))
			}
		}
		if late := time.Since(u.to); late > 95*time.Second { // 1 800 s in 20 parts, not at 3705 s
			t.Errorf("recovered %v late", late)
		}
		t.Logf("%d requests, recovered %v late", u.total(), time.Since(u.to))
	})
}

func TestBreaker_FinalFaultOfAnEarlyProbeEndsItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Hour, errBusy)
		var ended atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := ask(t.Context(), &g, policy.Patient(), opus, u); errors.Is(err, errDenied) {
					ended.Add(1)
				}
			})
		}
		time.Sleep(10 * time.Minute)
		u.turn(errDenied)
		time.Sleep(5 * time.Minute)
		if n := ended.Load(); n < 1 || n > 5 {
			t.Errorf("%d runs ended", n)
		}
		u.back()
		all.Wait()
	})
}

func TestBreaker_RetriesWaitForTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		p := policy.Policy{Retries: policy.Unlimited, Backoff: policy.Backoff{Steps: []time.Duration{10 * time.Millisecond}}}
		var tries, firsts, served, retriesServed int
		var mu sync.Mutex
		try := func(_ context.Context, n int) (int, error) { // every fifth request is answered
			mu.Lock()
			defer mu.Unlock()
			if tries++; n == 1 {
				firsts++
			}
			if tries%5 != 0 {
				return 0, errBusy
			}
			if served++; n > 1 {
				retriesServed++
			}
			return n, nil
		}
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() {
				c := g.Caller(opus)
				defer c.Close()
				_, _ = retry.Do(t.Context(), retry.Retrier{Policy: p, Breaker: c}, try)
			})
			time.Sleep(100 * time.Millisecond)
		}
		mu.Lock()
		if failed := tries - firsts - retriesServed; firsts != 300 || failed > 100+300+31 || failed < 300 {
			t.Errorf("%d failed retries beside %d first tries in 30s, want 300 to 431 beside 300", failed, firsts)
		}
		mu.Unlock()
		all.Wait() // none is lost: tokens trickle in
		if served != 300 {
			t.Errorf("%d served", served)
		}
		quiet(t, &g)
	})
}

// TestBreaker_AnsweredRetryPutsItsTokenBack: what waits for tokens when the
// upstream is well again does not go one a second.
func TestBreaker_AnsweredRetryPutsItsTokenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		c, pass, _ := enter(t, &g, opus)
		pass.Report(nil)
		takeTokens(t, c)
		began := time.Now()
		for range 50 {
			pass, err := c.Acquire(t.Context())
			if err != nil {
				t.Fatalf("retry: %v", err)
			}
			pass.Report(nil)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("50 answered retries took %v with one token, want a second", took)
		}
	})
}

// takeTokens has a call take all retry tokens.
func takeTokens(t *testing.T, c *breaker.Caller) {
	t.Helper()
	for range 100 {
		pass, err := c.Acquire(t.Context())
		if err != nil {
			t.Fatalf("retry with a token: %v", err)
		}
		pass.Report(errDenied)
	}
}

func TestCaller_PausedRetryGetsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		c, pass, _ := enter(t, &g, opus)
		pass.Report(nil)
		takeTokens(t, c)
		done := make(chan error, 1)
		go func() {
			_, err := c.Acquire(t.Context())
			done <- err
		}()
		synctest.Wait()
		if got := c.BlockedBy(); got != breaker.NoRetryToken {
			t.Fatalf("a retry without a token is blocked by %q, want %q", got, breaker.NoRetryToken)
		}
		c.Pause()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := c.BlockedBy(); got != breaker.Paused {
			t.Errorf("a paused retry is blocked by %q after a minute, want %q", got, breaker.Paused)
		}
		c.Resume()
		if err := <-done; err != nil {
			t.Errorf("the resumed retry: %v", err)
		}
	})
}

func TestBreaker_FaultOfAnotherModelWakesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Hour, errBusy)
		all := crowd(t, &g, u, 10)
		meet(t, &g, breaker.Scope{Model: "sonnet"}, nil)
		if st := g.State(); st.Waiting != 10 || len(st.Outages) != 1 || st.Outages[0].Scope.Model != "opus" {
			t.Errorf("State: got %+v, want ten that wait in the outage of opus", st)
		}
		u.back()
		all.Wait()
	})
}
