package breaker_test

import (
	"context"
	"errors"
	"fmt"
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

// burst is calls whose upstream is down from a moment on; zero: it never is. A try that begins before is answered.
type burst struct {
	calls    []burstCall
	from, to time.Duration
}

// burstCall is a call of a burst.
type burstCall struct {
	at, takes time.Duration
	fails     int // how many tries fail whatever the upstream does
}

// atOnce returns n calls that begin a millisecond apart. Each try of call i lasts takes + i*more.
func atOnce(n int, takes, more time.Duration) (all []burstCall) {
	for i := range n {
		all = append(all, burstCall{at: time.Duration(i) * time.Millisecond, takes: takes + time.Duration(i)*more})
	}
	return all
}

// always has a call fail for ever.
const always = 1 << 30

// failing returns calls of which one fails that often.
func failing(all []burstCall, call, tries int) []burstCall {
	all[call].fails = tries
	return all
}

// ended is the outcome of a call of a burst.
type ended struct {
	err   error
	tries int
	took  time.Duration
}

// isItsOwn reports whether the call ended in time as one that fails by itself.
func (e ended) isItsOwn() bool {
	f, _ := errors.AsType[*fault.Error](e.err)
	return f != nil && f.Final && e.tries <= 8 && strings.Contains(e.err.Error(), "it is this one, not the provider")
}

// play makes the calls.
func (u burst) play(ctx context.Context) []ended {
	var b breaker.Breaker
	var all sync.WaitGroup
	begun, outcomes := time.Now(), make([]ended, len(u.calls))
	for i, call := range u.calls {
		all.Go(func() {
			time.Sleep(call.at)
			c := b.Caller(opus)
			defer c.Close()
			out := &outcomes[i]
			_, out.err = retry.Do(ctx, retry.Retrier{Policy: policy.Patient(), Breaker: c}, func(ctx context.Context, _ int) (int, error) {
				at := time.Since(begun)
				if out.tries++; out.tries <= call.fails || at >= u.from && at < u.to {
					return 0, errors.Join(retry.Sleep(ctx, time.Second), &fault.Error{Kind: fault.Unavailable, Status: 500})
				}
				return 0, retry.Sleep(ctx, call.takes)
			})
			out.took = time.Since(begun) - call.at
		})
	}
	all.Wait()
	return outcomes
}

// No other calls come after a burst, so the bad call is alone when it is asked again. It holds back none that comes then.
func TestBreaker_BadCallOfABurstEnds(t *testing.T) {
	soon, late := 2*time.Minute, 10*time.Minute
	for _, takes := range []struct {
		first, more time.Duration
		later       []time.Duration // another call comes; zero: none does
	}{
		{time.Second, 0, []time.Duration{0, soon, late}},
		{time.Second, time.Second / 4, []time.Duration{0, soon, late}},
		{time.Minute, 0, []time.Duration{0, soon, late}},
		{5 * time.Minute, 0, []time.Duration{0}},
	} {
		for _, bad := range []int{0, 40, 75} {
			for _, later := range takes.later {
				synctest.Test(t, func(t *testing.T) {
					name := fmt.Sprintf("answers after %v and %v more each, call %d is bad, another comes after %v", takes.first, takes.more, bad, later)
					u := burst{calls: failing(atOnce(100, takes.first, takes.more), bad, always)}
					if later > 0 {
						u.calls = append(u.calls, burstCall{at: later, takes: time.Second})
					}
					for i, out := range u.play(t.Context()) {
						switch {
						case i != bad && (out.err != nil || out.tries > 1 || out.took > u.calls[i].takes):
							t.Errorf("%s: call %d ended with %v after %d tries and %v, want an answer", name, i, out.err, out.tries, out.took)
						case i == bad && !out.isItsOwn():
							t.Errorf("%s: it ended with %v after %d tries, want at most 8 and words that say so", name, out.err, out.tries)
						}
					}
				})
			}
		}
	}
}

// A few answers suffice where they are not all beside one try.
func TestBreaker_BadCallBesideAFewEnds(t *testing.T) {
	for n, want := range map[int]bool{2: false, 4: true} {
		synctest.Test(t, func(t *testing.T) {
			u := burst{calls: []burstCall{{fails: always}}}
			for i := range n {
				u.calls = append(u.calls, burstCall{at: time.Duration(3*i+2) * time.Minute, takes: time.Second})
			}
			if out := u.play(t.Context())[0]; out.isItsOwn() != want {
				t.Errorf("beside %d calls it ended with %v after %d tries, want words that say that it is this one: %v", n, out.err, out.tries, want)
			}
		})
	}
}

// In an outage that begins while a burst is answered, each call that meets it waits for its end, though there was none
// other to fail, and though answers to tries from before still come.
func TestBreaker_OutageAtTheEndOfABurstIsNoCallsOwn(t *testing.T) {
	const lasts = 3 * time.Hour
	late := burstCall{at: 20 * time.Second, takes: time.Second}
	for _, tt := range []struct {
		name  string
		burst burst
	}{
		{"the last call of the burst meets it", burst{atOnce(100, time.Second, time.Second), 99 * time.Millisecond, lasts}},
		{"half of the burst does", burst{atOnce(100, time.Second, time.Second), 50 * time.Millisecond, lasts}},
		{"one does that comes while the burst is answered", burst{append(atOnce(100, time.Second, time.Second), late), 15 * time.Second, lasts}},
		{"and another had failed by chance", burst{append(failing(atOnce(100, 10*time.Second, time.Second), 0, 1), late), 15 * time.Second, lasts}},
		{"one does after the burst", burst{append(atOnce(100, time.Second, 0), late), 15 * time.Second, lasts}},
		{"one of four does that has failed by chance", burst{failing(atOnce(4, time.Second, time.Second), 0, 1), 2 * time.Second, lasts}},
		{"one of ten does, whose answers take long", burst{failing(atOnce(10, time.Second, time.Minute), 0, 1), 2 * time.Second, lasts}},
	} {
		synctest.Test(t, func(t *testing.T) {
			met := 0
			for i, out := range tt.burst.play(t.Context()) {
				if out.err != nil {
					t.Errorf("%s: call %d ended with %v after %d tries and %v, want an answer", tt.name, i, out.err, out.tries, out.took)
				}
				if out.took > lasts-time.Hour {
					met++
				}
			}
			if met == 0 {
				t.Errorf("%s: no call has met the outage", tt.name)
			}
		})
	}
}
