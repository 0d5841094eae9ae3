package breaker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// upstream answers, or fails as long as it is down. It writes down when it was
// asked.
type upstream struct {
	mu       sync.Mutex
	from, to time.Time     // it is down
	fault    *fault.Error  // how it fails then
	slow     time.Duration // how long an answer takes
	sick     time.Duration // how long a failure takes
	asked    []time.Time
}

func (u *upstream) try(ctx context.Context, _ int) (string, error) {
	now := time.Now()
	u.mu.Lock()
	u.asked = append(u.asked, now)
	down, f := !now.Before(u.from) && now.Before(u.to), u.fault
	takes := u.slow
	if down {
		takes = u.sick
	}
	u.mu.Unlock()
	if takes > 0 {
		if err := retry.Sleep(ctx, takes); err != nil {
			return "", err
		}
	}
	if down {
		return "", f
	}
	return "answer", nil
}

// down makes an upstream that fails from now on for that long.
func down(d time.Duration, f *fault.Error) *upstream {
	return &upstream{from: time.Now(), to: time.Now().Add(d), fault: f}
}

// down makes the upstream fail within that time.
func (u *upstream) down(from, to time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.from, u.to = from, to
}

// back makes it answer from now on.
func (u *upstream) back() { u.down(u.from, time.Now()) }

// turn makes it fail in another way.
func (u *upstream) turn(f *fault.Error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fault = f
}

// total counts the requests so far.
func (u *upstream) total() int { return u.since(time.Time{}) }

// since counts the requests from a moment on.
func (u *upstream) since(t time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range u.asked {
		if !at.Before(t) {
			n++
		}
	}
	return n
}

// peak returns the most requests in any window of that length from t on.
func (u *upstream) peak(t time.Time, window time.Duration) (most int) {
	first := 0
	for i, at := range u.asked {
		for first < i && (u.asked[first].Before(t) || at.Sub(u.asked[first]) >= window) {
			first++
		}
		if !at.Before(t) {
			most = max(most, i-first+1)
		}
	}
	return most
}

// ask makes one logical call through the breaker; nil: without one.
func ask(ctx context.Context, g *breaker.Breaker, p policy.Policy, s breaker.Scope, u *upstream) error {
	e := retry.Retrier{Policy: p}
	if g != nil {
		c := g.Caller(s)
		defer c.Close()
		e.Breaker = c
	}
	_, err := retry.Do(ctx, e, u.try)
	return err
}

var (
	errBusy    = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}
	errRefused = &fault.Error{Kind: fault.Unavailable, Message: "connection refused"} // without an answer
	errBroken  = &fault.Error{Kind: fault.Unavailable, Status: 500, Message: "Internal error"}
	errDenied  = &fault.Error{Kind: fault.Auth, Status: 401, Message: "invalid x-api-key"}
	errExpired = &fault.Error{Kind: fault.Timeout, Message: "no first byte"}
)

// limited is a rate limit that asks for a wait.
func limited(d time.Duration) *fault.Error {
	return &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: d}
}

// quiet fails the test if a call still waits at the breaker.
func quiet(t *testing.T, g *breaker.Breaker) {
	t.Helper()
	if st := g.State(); st.Waiting != 0 {
		t.Errorf("%d calls still wait: %+v", st.Waiting, st)
	}
}
