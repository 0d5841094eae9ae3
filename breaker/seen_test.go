package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// refused and unknown are what a provider says of a key and of a model.
var (
	refused = &fault.Error{Kind: fault.Auth, Status: 401, Doubtful: true}
	unknown = &fault.Error{Kind: fault.Invalid, Status: 404, Doubtful: true}
)

// doubts reports the outcomes of one call's tries, and returns how each is doubted.
func doubts(t *testing.T, at retry.Breaker, outcomes ...*fault.Error) (all []int) {
	t.Helper()
	for _, f := range outcomes {
		p, err := at.Acquire(t.Context())
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		if f = p.Report(f); f != nil {
			all = append(all, f.Doubted)
		}
	}
	return all
}

func TestBreaker_RefusalOfWhatWasAcceptedIsDoubted(t *testing.T) {
	mine, others, model := breaker.Scope{Model: "m", Credential: "mine"}, breaker.Scope{Model: "m", Credential: "other"}, breaker.Scope{Model: "n", Credential: "mine"}
	for _, tt := range []struct {
		name     string
		asks     breaker.Scope
		after    time.Duration
		says     *fault.Error
		want, at string // of the call, and of the next one
	}{
		{"a key", mine, time.Minute, refused, "[1 2 0]", "[0]"},
		{"a key, with another model", model, time.Minute, refused, "[1 2 0]", "[0]"},
		{"another key", others, time.Minute, refused, "[0 0 0]", "[0]"},
		{"a key, long after", mine, 6 * time.Minute, refused, "[0 0 0]", "[0]"},
		{"a model", mine, time.Minute, unknown, "[1 2 3]", "[1]"},
		{"another model", model, time.Minute, unknown, "[0 0 0]", "[0]"},
		{"a model, with another key", others, time.Minute, unknown, "[0 0 0]", "[0]"},
		{"another fault", mine, time.Minute, errDenied, "[0 0 0]", "[0]"},
	} {
		for _, of := range []struct {
			name string
			call func(*breaker.Breaker, breaker.Scope) retry.Breaker
		}{
			{"caller", func(b *breaker.Breaker, s breaker.Scope) retry.Breaker { return b.Caller(s) }},
			{"witness", func(b *breaker.Breaker, s breaker.Scope) retry.Breaker { return b.Witness(s) }},
		} {
			synctest.Test(t, func(t *testing.T) {
				var b breaker.Breaker
				doubts(t, of.call(&b, mine), nil)
				time.Sleep(tt.after)
				got := fmt.Sprint(doubts(t, of.call(&b, tt.asks), tt.says, tt.says, tt.says))
				next := fmt.Sprint(doubts(t, of.call(&b, tt.asks), tt.says))
				if got != tt.want || next != tt.at {
					t.Errorf("%s of a %s: doubted %s, then %s; want %s, then %s", tt.name, of.name, got, next, tt.want, tt.at)
				}
			})
		}
	}
}

// someFail is an upstream that fails some tries.
type someFail struct {
	mu    sync.Mutex
	asked map[int]int
	takes time.Duration
	fails func(call int) *fault.Error
}

// call makes one logical call.
func (u *someFail) call(ctx context.Context, b *breaker.Breaker, n int) (tries int, err error) {
	c := b.Caller(opus)
	defer c.Close()
	_, err = retry.Do(ctx, retry.Retrier{Policy: policy.Patient(), Breaker: c}, func(ctx context.Context, _ int) (int, error) {
		u.mu.Lock()
		u.asked[n]++
		f := u.fails(n)
		u.mu.Unlock()
		if err := retry.Sleep(ctx, u.takes); err != nil {
			return 0, err
		}
		if f != nil {
			return 0, f
		}
		return n, nil
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked[n], err
}

// Without the rule the call takes eight hours, and each outage that it seems to show holds back the others.
func TestBreaker_OneBadCallOfAHundredEnds(t *testing.T) {
	for _, bad := range []*fault.Error{
		errBroken, errBusy,
		{Kind: fault.RateLimited, Status: 429, Message: "Rate limited"},
		{Kind: fault.Truncated, Status: 200, Message: "the answer broke off"},
		{Kind: fault.Unknown, Status: 418, Message: "no"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b breaker.Breaker
			u := &someFail{asked: map[int]int{}, takes: time.Second, fails: func(call int) *fault.Error {
				if call == 0 {
					f := *bad
					return &f
				}
				return nil
			}}
			var all sync.WaitGroup
			for n := range 100 {
				all.Go(func() {
					time.Sleep(time.Duration(n) * 20 * time.Second)
					begun := time.Now()
					tries, err := u.call(t.Context(), &b, n)
					f, _ := errors.AsType[*fault.Error](err)
					switch took := time.Since(begun); {
					case n > 0 && (err != nil || tries != 1 || took > time.Minute):
						t.Errorf("%v: call %d ended with %v after %d tries and %v, want an answer", bad, n, err, tries, took)
					case n == 0 && (f == nil || !f.Final || tries > 8 || !strings.Contains(err.Error(), "it is this one, not the provider")):
						t.Errorf("%v: the bad call ended with %v after %d tries, want at most 8 and words that say so", bad, err, tries)
					}
				})
			}
			all.Wait()
		})
	}
}

// A call that is alone with an outage is not the cause of it, whatever was answered before.
func TestBreaker_OutageIsNoCallsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker.Breaker
		down := false
		u := &someFail{asked: map[int]int{}, takes: time.Second, fails: func(int) *fault.Error {
			if down {
				return &fault.Error{Kind: fault.Unavailable, Status: 500}
			}
			return nil
		}}
		for n := range 20 {
			if _, err := u.call(t.Context(), &b, n); err != nil {
				t.Fatalf("call %d: %v", n, err)
			}
		}
		down = true
		time.AfterFunc(3*time.Hour, func() { u.mu.Lock(); defer u.mu.Unlock(); down = false })
		if tries, err := u.call(t.Context(), &b, 20); err != nil || tries < 9 {
			t.Errorf("the call of an outage of three hours ended with %v after %d tries, want an answer", err, tries)
		}
	})
}

func TestBreaker_RandomRefusalsAreNoCallsOwn(t *testing.T) {
	for _, tt := range []struct {
		calls int
		apart time.Duration
	}{{2000, 500 * time.Millisecond}, {300, 10 * time.Second}, {100, time.Minute}} {
		for seed := range uint64(3) {
			synctest.Test(t, func(t *testing.T) {
				var b breaker.Breaker
				u := &someFail{asked: map[int]int{}, takes: 2 * time.Second}
				u.fails = func(call int) *fault.Error { // by the call and its try, whatever the order in which they come
					if rand.New(rand.NewPCG(seed<<32|uint64(call), uint64(u.asked[call]))).Float64() < 0.3 {
						return &fault.Error{Kind: fault.RateLimited, Status: 429}
					}
					return nil
				}
				var all sync.WaitGroup
				for n := range tt.calls {
					all.Go(func() {
						time.Sleep(time.Duration(n) * tt.apart)
						if tries, err := u.call(t.Context(), &b, n); err != nil {
							t.Errorf("call %d of %d ended with %v after %d tries, want an answer", n, tt.calls, err, tries)
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// A limit on the way ends each try after the same time. An outage of others that ends so is one.
func TestBreaker_SameTimeEachTimeIsALimit(t *testing.T) {
	timeout := &fault.Error{Kind: fault.UpstreamTimeout, Status: 504, Message: "timeout"}
	for _, tt := range []struct {
		name  string
		fault *fault.Error
		takes []time.Duration // of the tries; the last one repeats
		others,
		ends bool
	}{
		{"504 after a minute", timeout, []time.Duration{time.Minute}, false, true},
		{"504 after about a minute", timeout, []time.Duration{60 * time.Second, 60300 * time.Millisecond, 60100 * time.Millisecond, 59900 * time.Millisecond}, false, true},
		{"504 after three seconds", timeout, []time.Duration{3 * time.Second}, false, true},
		{"504 at once", timeout, []time.Duration{time.Second / 10}, false, false},
		{"504 after different times", timeout, []time.Duration{60 * time.Second, 40 * time.Second, 50 * time.Second, 30 * time.Second, 60 * time.Second, 40 * time.Second, time.Second}, false, false},
		{"500 after a minute", errBroken, []time.Duration{time.Minute}, false, false},
		{"504 of all calls", timeout, []time.Duration{time.Minute}, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b breaker.Breaker
			end := time.Now().Add(time.Hour)
			try := func(ctx context.Context, n int) (int, error) {
				if time.Now().After(end) {
					return 1, nil
				}
				if err := retry.Sleep(ctx, tt.takes[min(n, len(tt.takes))-1]); err != nil {
					return 0, err
				}
				f := *tt.fault
				return 0, &f
			}
			var all sync.WaitGroup
			if tt.others {
				for range 8 {
					all.Go(func() {
						c := b.Caller(opus)
						defer c.Close()
						if _, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Patient(), Breaker: c}, try); err != nil {
							t.Errorf("%s: another call ended with %v", tt.name, err)
						}
					})
				}
			}
			c, tries := b.Caller(opus), 0
			defer c.Close()
			_, err := retry.Do(t.Context(), retry.Retrier{Policy: policy.Patient(), Breaker: c, OnTry: func(t retry.Try) { tries = t.N }}, try)
			all.Wait()
			if ended := err != nil; ended != tt.ends || ended && (tries > 4 || !strings.Contains(err.Error(), "a limit on the way ends each")) {
				t.Errorf("%s: it ended with %v after %d tries, want ended %v", tt.name, err, tries, tt.ends)
			}
		})
	}
}
