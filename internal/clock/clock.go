// Package clock is the time that packages retry and breaker go by: the
// machine's, or in internal/lab one that plays hours in seconds.
package clock

import (
	"context"
	"math"
	"time"
)

// Clock is a source of time.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) Timer
	// WithDeadline is context.WithDeadlineCause by this clock.
	WithDeadline(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc)
	// SleepOrWake waits for d, or until wake is received from: then it returns
	// true. It returns early with context.Cause when ctx ends.
	SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error)
	// Woke is called after a send to wake, which a caller may sleep on.
	Woke(wake <-chan struct{})
}

// Timer is the result of a Clock's AfterFunc: a *time.Timer or its like.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// Forever is a sleep that only a wake-up or the context ends.
const Forever = time.Duration(math.MaxInt64)

// Or returns c, or the machine's clock where c is nil.
func Or(c Clock) Clock {
	if c == nil {
		return Machine{}
	}
	return c
}

// Machine is the machine's clock.
type Machine struct{}

// Now is time.Now.
func (Machine) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (Machine) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// WithDeadline is context.WithDeadlineCause.
func (Machine) WithDeadline(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, end, cause)
}

// Woke does nothing: a channel wakes by itself.
func (Machine) Woke(<-chan struct{}) {}

// slice is how often a long sleep looks at the wall clock. A timer counts monotonic time, which stands still
// while a laptop is suspended. A sleep ends by the wall clock, at most a slice late.
const slice = 15 * time.Second

// SleepOrWake waits by the monotonic clock or the wall clock, whichever reaches the end first.
func (Machine) SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if d == Forever {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-wake:
			return true, nil
		}
	}
	start := time.Now()
	timer := time.NewTimer(min(d, slice))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-wake:
			return true, nil
		case now := <-timer.C:
			left := Left(start, d, now)
			if left <= 0 {
				return false, nil
			}
			timer.Reset(min(left, slice))
		}
	}
}

// Left is how much is left of a wait that began at start, by the clock that has
// gone further: Round strips the monotonic reading, so that the wall clock counts.
func Left(start time.Time, wait time.Duration, now time.Time) time.Duration {
	return wait - max(now.Sub(start), now.Round(0).Sub(start.Round(0)))
}
