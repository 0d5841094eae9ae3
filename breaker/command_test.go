package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// waiting starts a patient call that waits for the upstream.
func waiting(t *testing.T, g *breaker.Breaker, u *upstream) (*breaker.Caller, <-chan error) {
	t.Helper()
	c, ended := g.Caller(opus), make(chan error, 1)
	go func() {
		defer c.Close()
		_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Patient(), Breaker: c}, u.try)
		ended <- err
	}()
	synctest.Wait()
	return c, ended
}

func TestCaller_RetryNowEndsAWaitInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Hour, errBusy)
		fail(t, &g, opus, errBusy)
		c, ended := waiting(t, &g, u)
		if u.total() != 0 || c.BlockedBy() != breaker.InBackoff {
			t.Fatalf("%d requests, %q", u.total(), c.BlockedBy())
		}
		for n := range 3 {
			c.RetryNow()
			synctest.Wait()
			if u.total() != n+1 || c.BlockedBy() != breaker.InBackoff {
				t.Errorf("%d requests, %q", u.total(), c.BlockedBy())
			}
		}
		u.back()
		c.RetryNow()
		if err := <-ended; err != nil || time.Since(u.to) > 0 {
			t.Errorf("%v after %v", err, time.Since(u.to))
		}
	})
}

// Tries that an operator asks for do not count, whether an outage is known or not and however the command comes.
func TestRetryNow_CostsNoAttempt(t *testing.T) {
	for _, open := range []bool{true, false} {
		for _, all := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var g breaker.Breaker
				u := down(time.Hour, errBusy)
				if open {
					fail(t, &g, opus, errBusy)
				}
				c := g.Caller(opus)
				defer c.Close()
				once := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute, time.Hour}}}
				ended := make(chan error, 1)
				go func() {
					_, err := retry.Do(t.Context(), retry.Retrier{Policy: once, Breaker: c}, u.try)
					ended <- err
				}()
				time.Sleep(30 * time.Second)
				for range 10 {
					if all {
						g.RetryNow()
					} else {
						c.RetryNow()
					}
					time.Sleep(time.Second)
				}
				if n := u.total(); n < 10 {
					t.Errorf("open %v, all %v: %d requests, want one for each command", open, all, n)
				}
				if err := <-ended; err != nil || time.Since(u.from) != time.Hour+time.Minute {
					t.Errorf("open %v, all %v: got %v after %v, want success at the end of the second wait", open, all, err, time.Since(u.from))
				}
			})
		}
	}
}

func TestCaller_RetryNowBeforeAcquireIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, &fault.Error{Kind: fault.RateLimited, Status: 429, Wait: time.Hour})
		for _, hurried := range []bool{false, true} {
			c := g.Caller(opus)
			if hurried {
				c.RetryNow()
			}
			pass, err := c.Acquire(t.Context())
			if got := err == nil; got != hurried {
				t.Errorf("now %v: %v", hurried, err)
			}
			if pass != nil {
				pass.Report(nil)
			}
			c.Close()
		}
	})
}

// A client that is told of a failed try may answer before the call waits.
func TestCaller_RetryNowBeforeAWaitEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, open := range []bool{false, true} {
			var g breaker.Breaker
			if open {
				fail(t, &g, opus, errBusy)
			}
			c := g.Caller(opus)
			c.RetryNow()
			pass, err := c.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.RetryNow() // during the try, which is what was asked for
			pass.Report(errBusy)
			c.RetryNow()
			began := time.Now()
			if err := c.Wait(t.Context(), time.Hour); !errors.Is(err, retry.ErrEarlyProbe) || time.Since(began) > 0 {
				t.Errorf("open %v: asked before the wait: got %v after %v, want an early probe at once", open, err, time.Since(began))
			}
			if pass, err = c.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
			pass.Report(errBusy)
			if err := c.Wait(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
				t.Errorf("open %v: the next wait: got %v after %v, want all of it", open, err, time.Since(began))
			}
			c.Close()
		}
	})
}

func TestBreaker_RetryNowSendsOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Hour, limited(20*time.Minute))
		all := crowd(t, &g, u, 50)
		time.Sleep(5 * time.Minute)
		before := u.total()
		g.RetryNow()
		synctest.Wait()
		if n := u.total() - before; n != 1 {
			t.Errorf("%d were sent", n)
		}
		u.back()
		g.RetryNow()
		all.Wait()
		if late := time.Since(u.to); late > time.Second {
			t.Errorf("the last %v later", late)
		}
	})
}

func TestBreaker_RetryNowEndsWaitsWithoutAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Second, errBusy)
		_, one := waiting(t, &g, u)
		u.turn(errExpired)
		_, two := waiting(t, &g, u)
		time.Sleep(2 * time.Second)
		g.RetryNow()
		if err := errors.Join(<-one, <-two); err != nil || time.Since(u.to) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(u.to))
		}
	})
}

func TestBreaker_PauseKeepsAllCallsUntilResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Second, errBusy)
		waiter, one := waiting(t, &g, u)
		g.Pause("ada")
		newcomer, two := waiting(t, &g, u)
		time.Sleep(time.Hour)
		waiter.RetryNow()
		g.RetryNow()
		synctest.Wait()
		if st := g.State(); u.total() != 1 || st.Waiting != 2 || st.PausedBy != "ada" || !st.Paused.Equal(u.from) {
			t.Errorf("%d requests, %+v", u.total(), st)
		}
		if waiter.BlockedBy() != breaker.Paused || newcomer.BlockedBy() != breaker.Paused {
			t.Errorf("%q and %q", waiter.BlockedBy(), newcomer.BlockedBy())
		}
		g.Resume()
		if err := errors.Join(<-one, <-two); err != nil || !g.State().Paused.IsZero() {
			t.Errorf("the waiting call ended with %v", err)
		}
	})
}

func TestCaller_PauseKeepsOnlyThatCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := down(time.Minute, errBusy)
		kept, one := waiting(t, &g, u)
		kept.Pause()
		all := crowd(t, &g, u, 20)
		all.Wait()
		time.Sleep(time.Hour)
		if kept.BlockedBy() != breaker.Paused || len(one) != 0 {
			t.Errorf("it is %q", kept.BlockedBy())
		}
		kept.Resume()
		if err := <-one; err != nil {
			t.Errorf("the waiting call ended with %v", err)
		}
		quiet(t, &g)
	})
}

func TestBreaker_GiveUpEndsTheRunWithItsLastFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, giveUp := range map[string]func(*breaker.Breaker, *breaker.Caller){
			"the call":     func(_ *breaker.Breaker, c *breaker.Caller) { c.GiveUp() },
			"the upstream": func(g *breaker.Breaker, _ *breaker.Caller) { g.GiveUp() },
		} {
			var g breaker.Breaker
			u := down(time.Hour, errBusy)
			asleep, one := waiting(t, &g, u)
			giveUp(&g, asleep)
			err := <-one
			f, ok := errors.AsType[*fault.Error](err)
			if !errors.Is(err, retry.ErrGivenUp) || !ok || f.Kind != fault.Overloaded || err.Error() != "given up: HTTP 529: Overloaded" {
				t.Errorf("%s, asleep: %v", name, err)
			}
			g.Pause("")
			fresh, two := waiting(t, &g, u)
			giveUp(&g, fresh)
			if err := <-two; !errors.Is(err, retry.ErrGivenUp) || err.Error() != "given up" {
				t.Errorf("%s, held: %v", name, err)
			}
			quiet(t, &g)
		}
	})
}

func TestCaller_ClosedProbeIsFollowedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		fail(t, &g, opus, errBusy)
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		c, probe, err := enter(t, &g, opus)
		if err != nil || probe == nil {
			t.Fatalf("acquire: %v", err)
		}
		blocked := make(chan error, 1)
		go func() {
			_, _, err := enter(t, &g, opus)
			blocked <- err
		}()
		synctest.Wait()
		cancel()
		c.Close() // its caller has gone without a word
		if err := <-blocked; err != nil || ctx.Err() == nil {
			t.Errorf("close the body: %v", err)
		}
	})
}

func TestBreaker_StateShowsOutagesAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := breaker.New("anthropic")
		meet(t, g, opus, nil)
		answered := time.Now()
		time.Sleep(time.Minute)
		u := down(10*time.Minute, errBusy)
		all := crowd(t, g, u, 10)
		time.Sleep(7100 * time.Millisecond) // between two probes
		st := g.State()
		if st.Name != "anthropic" || !st.LastSuccess.Equal(answered) || len(st.Outages) != 1 {
			t.Fatalf("State: got %+v, want one outage, and the last success at %v", st, answered)
		}
		o := st.Outages[0]
		if o.Level != "model" || o.Scope.Model != "opus" || !o.Since.Equal(u.from) || o.Fault.Kind != fault.Overloaded ||
			o.Probes < 2 || o.Waiting != 10 || o.Probing || o.Next.Before(time.Now()) || o.Next.After(time.Now().Add(time.Second)) {
			t.Errorf("outage: got %+v, want that of opus since %v, with ten that wait for the next probe", o, u.from)
		}
		all.Wait()
	})
}

func TestSet_IsBounded(t *testing.T) {
	var s breaker.Set
	for i := range 1024 {
		s.Of(time.Duration(i).String()).Pause("ada")
	}
	if a, b := s.Of("a"), s.Of("a"); a == b {
		t.Error("one more breaker is kept")
	}
	if s.Of("7ns").State().PausedBy != "ada" {
		t.Error("one that is held was forgotten")
	}
}

func TestSet_KeepsOneBreakerForEachUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s breaker.Set
		g := s.Of("https://api.example.com")
		fail(t, g, opus, errBusy)
		for i := range 3000 {
			s.Of(time.Duration(i).String())
		}
		if s.Of("https://api.example.com") != g {
			t.Error("a breaker with an outage was forgotten")
		}
	})
}
