package retry

import (
	"context"
	"time"
)

// Clock is a time that a run goes by in place of the machine's, for whoever
// plays hours in seconds.
type Clock interface {
	Now() time.Time
	// SleepOrWake is the function of that name by this clock.
	SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error)
	// WithDeadline is context.WithDeadlineCause by this clock.
	WithDeadline(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc)
}

// now reads the engine's clock.
func (e *Retrier) now() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock.Now()
}

// sleep waits by the engine's clock.
func (e *Retrier) sleep(ctx context.Context, d time.Duration) error {
	if e.Clock == nil {
		return Sleep(ctx, d)
	}
	_, err := e.Clock.SleepOrWake(ctx, d, nil)
	return err
}

// until gives a context that ends by the engine's clock.
func (e *Retrier) until(ctx context.Context, end time.Time, cause error) (context.Context, context.CancelFunc) {
	if e.Clock == nil {
		return context.WithDeadlineCause(ctx, end, cause)
	}
	return e.Clock.WithDeadline(ctx, end, cause)
}
