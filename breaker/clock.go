package breaker

import (
	"context"
	"math"
	"time"

	"github.com/ridethrough/ridethrough/retry"
)

// Clock is a time that a gate goes by in place of the machine's, for whoever
// plays hours in seconds.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) Timer
	// SleepOrWake is retry.SleepOrWake by this clock.
	SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error)
	// Rung is told that there is something in wake, for whoever dozes on it.
	Rung(wake <-chan struct{})
}

// Timer is what a Clock's AfterFunc gives: a *time.Timer or its like.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// endless is a doze that only a wake-up ends.
const endless = time.Duration(math.MaxInt64)

func (g *Breaker) now() time.Time {
	if g.Clock == nil {
		return time.Now()
	}
	return g.Clock.Now()
}

func (g *Breaker) afterFunc(d time.Duration, f func()) Timer {
	if g.Clock == nil {
		return time.AfterFunc(d, f)
	}
	return g.Clock.AfterFunc(d, f)
}

func (g *Breaker) doze(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if g.Clock == nil {
		_, err := retry.SleepOrWake(ctx, d, wake)
		return err
	}
	_, err := g.Clock.SleepOrWake(ctx, d, wake)
	return err
}
