package breaker_test

import (
	"context"
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

// thrice waits that long before each of three retries.
func thrice(wait time.Duration) policy.Policy {
	return policy.Policy{Retries: 3, Backoff: policy.Backoff{Steps: []time.Duration{wait}}}
}

// earlyRetry has a call fail its first tries, with others answered each second for
// a while. It returns when the call was answered, its waits and its last try.
func earlyRetry(t *testing.T, f *fault.Error, wait time.Duration, fails int, others time.Duration, s breaker.Scope) (took time.Duration, waits int, last retry.Try) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			c := g.Caller(opus)
			defer c.Close()
			e := retry.Retrier{Policy: thrice(wait), Breaker: c, OnWait: func(policy.Wait) { waits++ }, OnTry: func(t retry.Try) { last = t }}
			tries := 0
			if _, err := retry.Do(t.Context(), e, func(context.Context, int) (int, error) {
				if tries++; tries <= fails {
					return 0, f
				}
				return 1, nil
			}); err != nil {
				t.Errorf("Do: %v", err)
			}
			took = time.Since(begun)
		})
		for time.Since(begun) < others {
			time.Sleep(time.Second)
			meet(t, &g, s, nil)
		}
		all.Wait()
		nothingLeft(t, &g)
	})
	return took, waits, last
}

func TestBreaker_EarlyRetryGoesWhileOthersAreAnswered(t *testing.T) {
	other := breaker.Scope{Model: "sonnet", Credential: "b"}
	for _, tt := range []struct {
		name   string
		fault  *fault.Error
		wait   time.Duration
		fails  int
		others time.Duration
		scope  breaker.Scope
		took   time.Duration
	}{
		{"long wait", errBusy, time.Hour, 1, time.Minute, opus, 30 * time.Second},
		{"refused twice more", errBusy, time.Hour, 3, 10 * time.Minute, opus, 90 * time.Second},
		{"refused until little is left", errBusy, 3 * time.Minute, 4, 10 * time.Minute, opus, 2 * time.Minute},
		{"shortest wait", errBusy, 2 * time.Minute, 1, 10 * time.Minute, opus, 30 * time.Second},
		{"no call is answered", errBusy, time.Hour, 1, 0, opus, time.Hour},
		{"only those of another model are", errBusy, time.Hour, 1, 10 * time.Minute, other, time.Hour},
		{"the host is the same", errBroken, time.Hour, 1, time.Minute, other, 30 * time.Second},
		{"short wait", errBusy, time.Minute, 1, 10 * time.Minute, opus, time.Minute},
		{"a stated wait that is over", &fault.Error{Kind: fault.Overloaded, Wait: 30 * time.Second}, time.Hour, 1, time.Minute, opus, 30 * time.Second},
		{"a limit of our own", errExpired, time.Hour, 1, 10 * time.Minute, opus, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			took, waits, last := earlyRetry(t, tt.fault, tt.wait, tt.fails, tt.others, tt.scope)
			if took != tt.took {
				t.Errorf("answered after %v, want %v", took, tt.took)
			}
			if waits != 1 || last.Fault != nil || last.Run.Tries != 1 || last.Waited != took || last.Run.Slept != took {
				t.Errorf("%d waits, last try %+v", waits, last)
			}
		})
	}
}

func TestBreaker_AnswerAtTheMomentOfARefusalSendsNoEarlyRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		_, other, _ := enter(t, &g, opus)
		u := down(time.Second, errBusy)
		ended := make(chan error, 1)
		go func() { ended <- ask(t.Context(), &g, thrice(time.Hour), opus, u) }()
		synctest.Wait()
		other.Report(nil) // it proves nothing about what came after
		if err := <-ended; err != nil || time.Since(u.from) != time.Hour {
			t.Errorf("call: %v after %v, want an answer after its wait of an hour", err, time.Since(u.from))
		}
	})
}

func TestBreaker_StatedWaitIsNotCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		begun := time.Now()
		reset := &fault.Error{Kind: fault.Overloaded, Wait: 10 * time.Minute} // of a kind that closes nothing
		var all sync.WaitGroup
		all.Go(func() {
			u := down(time.Second, reset)
			if err := ask(t.Context(), &g, thrice(5*time.Minute), opus, u); err != nil || time.Since(begun) != 10*time.Minute || u.total() != 2 {
				t.Errorf("%v after %v with %d requests", err, time.Since(begun), u.total())
			}
		})
		for range 20 * 60 {
			time.Sleep(time.Second)
			meet(t, &g, opus, nil)
		}
		all.Wait()
	})
}

// earlyRetries returns when calls retry early that an upstream has refused, each
// alone, while it answers two others each second. It refuses them until it is
// back. usual is how many came per second at most, as the breaker counts them.
func earlyRetries(t *testing.T, n int, back, until time.Duration) (sent []time.Duration, usual float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 3 * 60 { // so many come usually
			time.Sleep(time.Second)
			meet(t, &g, opus, nil, nil)
		}
		begun := time.Now()
		for range n {
			first := true
			all.Go(func() {
				c := g.Caller(opus)
				defer c.Close()
				_, _ = retry.Do(ctx, retry.Retrier{Policy: thrice(2 * time.Hour), Breaker: c}, func(context.Context, int) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					if first {
						first = false
						return 0, errBusy
					}
					if sent = append(sent, time.Since(begun)); time.Since(begun) < back {
						return 0, errBusy
					}
					return 1, nil
				})
			})
			synctest.Wait()
			meet(t, &g, opus, nil)
		}
		for time.Since(begun) < until {
			time.Sleep(time.Second)
			meet(t, &g, opus, nil, nil)
			usual = max(usual, g.State().UsualRate)
		}
		cancel()
		all.Wait()
	})
	return sent, usual
}

func TestBreaker_EarlyRetriesAreBoundedByTheUsualTraffic(t *testing.T) {
	sent, usual := earlyRetries(t, 200, 0, 10*time.Minute)
	// half of four hundred tries have just failed, so the first retries go after five seconds
	if len(sent) != 200 || sent[0] != 5*time.Second || sent[199] > 140*time.Second {
		t.Errorf("%d early retries from %v to %v, want 200 from 5s to at most 2m20s", len(sent), sent[0], sent[len(sent)-1])
	}
	for i := 20; i < len(sent); i++ {
		if rate := 20 / (sent[i] - sent[i-20]).Seconds(); rate > usual {
			t.Fatalf("%.1f early retries per second at %v, with %.1f callers", rate, sent[i], usual)
		}
	}
}

func TestBreaker_RefusedEarlyRetriesComeLessOften(t *testing.T) {
	sent, _ := earlyRetries(t, 200, 20*time.Minute, 40*time.Minute)
	before, _ := slices.BinarySearch(sent, 20*time.Minute)
	if before < 20 || before > 50 || len(sent)-before != 200 {
		t.Errorf("%d were sent in vain, %d answered", before, len(sent)-before)
	}
	if last := sent[len(sent)-1]; last > 25*time.Minute {
		t.Errorf("the last was answered at %v", last)
	}
}
