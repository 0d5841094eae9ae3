package breaker_test

import (
	"fmt"
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

func TestBreaker_UsageWindowIsAskedEveryQuarterHourAndLetsCallsGoInOrder(t *testing.T) {
	for _, calls := range []int{1, 40} {
		synctest.Test(t, func(t *testing.T) {
			const length = 5 * time.Hour
			var g breaker.Breaker
			u := down(length, spentUntil(time.Now().Add(length)))
			var order []int
			ended := make(chan error)
			for i := range calls {
				go func() {
					c := g.Caller(opus)
					defer c.Close()
					e := retry.Retrier{Policy: untilReset(), Breaker: c, OnTry: func(t retry.Try) {
						if t.Fault == nil {
							order = append(order, i)
						}
					}}
					_, err := retry.Do(t.Context(), e, u.try)
					ended <- err
				}()
				synctest.Wait()
				time.Sleep(time.Second)
			}
			for range calls {
				if err := <-ended; err != nil {
					t.Errorf("%d calls: %v, want an answer after the reset", calls, err)
				}
			}
			before := u.total() - u.since(u.to)
			if before < 15 || before > 21 || u.since(u.to) != calls {
				t.Errorf("%d calls: %d requests in the window and %d behind it, want one each quarter of an hour, then one each", calls, before, u.since(u.to))
			}
			if last := time.Since(u.to); last > 30*time.Second {
				t.Errorf("%d calls: the last one is answered %v after the reset, want at most 30s", calls, last)
			}
			want := make([]int, calls)
			for i := range want {
				want[i] = i
			}
			moved := 0
			for i := 1; i < len(order); i++ {
				if order[i] < order[i-1] {
					moved++
				}
			}
			if moved > before { // those that have asked meanwhile are behind the others
				t.Errorf("answered in the order %v, want %v but for those that have asked meanwhile", order, want)
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
		order, ended := []int{}, make(chan error)
		for i := range calls {
			go func() {
				c := g.Caller(opus)
				defer c.Close()
				e := retry.Retrier{Policy: untilReset(), Breaker: c, OnTry: func(t retry.Try) {
					if t.Fault == nil {
						order = append(order, i)
					}
				}}
				_, err := retry.Do(t.Context(), e, u.try)
				ended <- err
			}()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		for range calls {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		late := 0
		for i := 2; i < len(order); i++ { // the first is the probe, whichever it is
			if order[i] < order[i-1] {
				late++
			}
		}
		if u.since(time.Time{}) != calls+1 || late > 0 {
			t.Errorf("%d requests for %d calls, answered in the order %v; want one refusal, and behind the probe the order of their arrival", u.total(), calls, order)
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
