package breaker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
)

// still is a clock that a test moves. A call that sleeps on it lets
// the test what it needs to continue, and nothing else runs meanwhile.
type still struct {
	clock.Machine
	now    time.Time
	timers []*stillTimer
	rung   int
	sleep  func(wake <-chan struct{})
}

type stillTimer struct {
	clock *still
	at    time.Time // zero: it is not set
	f     func()
}

func (c *still) Now() time.Time { return c.now }

func (c *still) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &stillTimer{c, c.now.Add(d), f}
	c.timers = append(c.timers, t)
	return t
}

func (t *stillTimer) Stop() bool {
	set := !t.at.IsZero()
	t.at = time.Time{}
	return set
}

func (t *stillTimer) Reset(d time.Duration) bool {
	set := t.Stop()
	t.at = t.clock.now.Add(d)
	return set
}

func (c *still) SleepOrWake(_ context.Context, _ time.Duration, wake <-chan struct{}) (bool, error) {
	c.sleep(wake)
	<-wake
	return true, nil
}

func (c *still) Woke(<-chan struct{}) { c.rung++ }

// next moves the clock to the earliest timer and fires it.
func (c *still) next(t *testing.T) {
	t.Helper()
	set := slices.DeleteFunc(slices.Clone(c.timers), func(t *stillTimer) bool { return t.at.IsZero() })
	if len(set) == 0 {
		t.Fatal("no timer is set")
	}
	first := slices.MinFunc(set, func(a, b *stillTimer) int { return a.at.Compare(b.at) })
	c.now, first.at = first.at, time.Time{}
	first.f()
}

// TestBreaker_GoesByItsClock opens an outage, lets a call sleep in it,
// and has its next probe sent by hours that pass in no time.
func TestBreaker_GoesByItsClock(t *testing.T) {
	clock := &still{now: time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)}
	g := &breaker.Breaker{Clock: clock}
	asked := g.Caller(opus)
	defer asked.Close()
	pass, err := asked.Acquire(t.Context())
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	pass.Report(limited(10 * time.Minute)) // a stated wait keeps all calls away
	if until := g.State().Outages[0].Until; !until.Equal(clock.now.Add(10 * time.Minute)) {
		t.Errorf("closed until %v, want ten minutes from %v", until, clock.now)
	}

	other := g.Caller(opus)
	defer other.Close()
	if _, err := other.Acquire(t.Context()); err == nil || err.(*fault.Error).Status != 429 {
		t.Fatalf("a call inside the stated wait gets %v, want the fault that it shares", err)
	}
	clock.sleep = func(<-chan struct{}) {
		clock.now = clock.now.Add(10 * time.Minute)
		g.RetryNow()
	}
	if err := other.Wait(t.Context(), time.Hour); err == nil {
		t.Error("the wait was not ended for an early probe")
	}
	if clock.rung == 0 {
		t.Error("the clock was not told of the wake-up")
	}
}

// TestBreaker_RetryTokensGoByItsClock has more retries than there are
// tokens: the next comes by a timer of the clock's.
func TestBreaker_RetryTokensGoByItsClock(t *testing.T) {
	clock := &still{now: time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)}
	g := &breaker.Breaker{Clock: clock}
	begun := clock.now
	clock.sleep = func(<-chan struct{}) { clock.next(t) }
	c := g.Caller(opus)
	defer c.Close()
	for range 103 { // the first is no retry, a hundred have a token
		pass, err := c.Acquire(t.Context())
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		pass.Report(errExpired) // says nothing about the upstream
	}
	if waited := clock.now.Sub(begun); waited < time.Second || waited > 3*time.Second {
		t.Errorf("two tokens took %v, want a second each", waited)
	}
}
