package breaker_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// spentUntil is the refusal of a usage window that opens then.
func spentUntil(opens time.Time) *fault.Error {
	return &fault.Error{Kind: fault.Quota, Status: 429, Message: "usage limit", ResetAt: opens, Window: true}
}

// untilReset is a policy that waits for a window and makes no other retry than its try.
func untilReset() policy.Policy {
	return policy.Policy{Retries: 1, Quota: policy.Quota{Wait: policy.QuotaUntilReset, Max: 5 * time.Hour}}
}

// answers makes calls one second apart through the breaker, which must be answered. It returns when they are.
func answers(t *testing.T, g *breaker.Breaker, u *upstream, calls int) []time.Time {
	t.Helper()
	u.slow = 100 * time.Millisecond // in no time, the outage could be over in the instant in which all waits end
	at := make([]time.Time, calls)
	var ended sync.WaitGroup
	for i := range calls {
		ended.Go(func() {
			err := ask(t.Context(), g, untilReset(), opus, u)
			if at[i] = time.Now(); err != nil {
				t.Errorf("call %d of %d: %v, want an answer after the reset", i, calls, err)
			}
		})
		synctest.Wait()
		time.Sleep(time.Second)
	}
	ended.Wait()
	return at
}

// overtaken counts the calls that are answered later than one that came after them. Which is the first of all does
// not count: it is the probe.
func overtaken(answered []time.Time) (n int) {
	first := slices.MinFunc(answered, time.Time.Compare)
	for i, at := range answered {
		if slices.ContainsFunc(answered[i:], func(later time.Time) bool { return later.Before(at) && later.After(first) }) {
			n++
		}
	}
	return n
}

func TestBreaker_UsageWindowIsAskedEveryQuarterHour(t *testing.T) {
	for _, calls := range []int{1, 40} {
		synctest.Test(t, func(t *testing.T) {
			const length = 5 * time.Hour
			var g breaker.Breaker
			u := down(length, spentUntil(time.Now().Add(length)))
			answered := answers(t, &g, u, calls)
			before := u.total() - u.since(u.to)
			if before < 15 || before > 21 || u.since(u.to) != calls {
				t.Errorf("%d calls: %d requests in the window and %d behind it, want one each quarter of an hour, then one each", calls, before, u.since(u.to))
			}
			if last := time.Since(u.to); last > 30*time.Second {
				t.Errorf("%d calls: the last one is answered %v after the reset, want at most 30s", calls, last)
			}
			if n := overtaken(answered); n > before {
				t.Errorf("%d calls are overtaken, want only those that have asked meanwhile: %v", n, answered)
			}
			quiet(t, &g)
		})
	}
}

func TestBreaker_WaitsForAUsageWindowEndInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(90*time.Second, spentUntil(time.Now().Add(90*time.Second)))
		const calls = 30
		answered := answers(t, &g, u, calls)
		if n := overtaken(answered); u.total() != calls+1 || n > 0 {
			t.Errorf("%d requests for %d calls, of which %d are overtaken; want one refusal, and the order of their arrival", u.total(), calls, n)
		}
	})
}

// A call whose wait has begun in another process has its place by that.
func TestCaller_WaitsSinceItsWaitBeganElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		begun, length := time.Now(), 90*time.Second
		u := down(length, spentUntil(begun.Add(length)))
		var back time.Time
		time.AfterFunc(40*time.Second, func() {
			c := g.Caller(opus)
			defer c.Close()
			c.WaitsSince(begun.Add(5500 * time.Millisecond)) // after six calls
			on := policy.Wait{Run: policy.Run{Tries: 1, Started: begun}, Fault: spentUntil(begun.Add(length)), Due: begun.Add(length)}
			on.Verdict = policy.Verdict{Wait: length, Hinted: true, Window: true}
			if _, err := retry.Do(t.Context(), retry.Retrier{Policy: untilReset(), Breaker: c, Resume: &on}, u.try); err != nil {
				t.Errorf("the call that goes on here: %v, want an answer", err)
			}
			back = time.Now()
		})
		earlier := 0
		for _, at := range answers(t, &g, u, 30) {
			if at.Before(back) {
				earlier++
			}
		}
		if back.IsZero() || earlier > 9 {
			t.Errorf("answered at %v, after %d of 30 calls; want after the six that wait for longer, and those of the same batch", back, earlier)
		}
	})
}

// A reset that is stated far too late keeps no call for longer than a quarter of an hour.
func TestBreaker_WrongResetHoldsForAQuarterOfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Minute, spentUntil(time.Now().Add(5*time.Hour)))
		begun := time.Now()
		if err := ask(t.Context(), &g, untilReset(), opus, u); err != nil || time.Since(begun) != 15*time.Minute {
			t.Errorf("%v after %v, want an answer after 15m", err, time.Since(begun))
		}
	})
}

func TestCaller_RetryNowInAUsageWindowCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		begun := time.Now()
		u := down(time.Hour, spentUntil(begun.Add(time.Hour)))
		c, ended := g.Caller(opus), make(chan error, 1)
		var tries []string
		go func() {
			defer c.Close()
			e := retry.Retrier{Policy: untilReset(), Breaker: c, OnTry: func(t retry.Try) {
				tries = append(tries, fmt.Sprint(t.Run.Tries, " ", t.Run.Windows, " ", t.Stop))
			}}
			_, err := retry.Do(t.Context(), e, u.try)
			ended <- err
		}()
		for range 3 {
			time.Sleep(time.Minute)
			c.RetryNow()
			synctest.Wait()
		}
		if fmt.Sprint(tries) != "[1 1  1 1  1 1  1 1 ]" || u.total() != 4 {
			t.Errorf("tries, windows and stops %q in %d requests, want four requests and one try that counts", tries, u.total())
		}
		u.back()
		c.RetryNow()
		if err := <-ended; err != nil || time.Since(begun) != 3*time.Minute {
			t.Errorf("%v after %v, want an answer at once", err, time.Since(begun))
		}
	})
}

// A call that is paused cannot ask meanwhile, and the breaker does not look for another one all the time.
func TestBreaker_PausedCallsAskForNoUsageWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		begun := time.Now()
		u := down(time.Hour, spentUntil(begun.Add(time.Hour)))
		c, ended := g.Caller(opus), make(chan error, 1)
		go func() {
			defer c.Close()
			_, err := retry.Do(t.Context(), retry.Retrier{Policy: untilReset(), Breaker: c}, u.try)
			ended <- err
		}()
		synctest.Wait()
		c.Pause()
		time.Sleep(2 * time.Hour)
		if u.total() != 1 || c.BlockedBy() != breaker.Paused {
			t.Errorf("%d requests, blocked by %q; want one, and that it is paused", u.total(), c.BlockedBy())
		}
		c.Resume()
		if err := <-ended; err != nil || time.Since(begun) != 2*time.Hour {
			t.Errorf("%v after %v, want an answer after the pause", err, time.Since(begun))
		}
	})
}
