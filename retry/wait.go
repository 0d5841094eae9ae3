package retry

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// slice is how often a long wait looks at the wall clock. A timer counts
// monotonic time, which stands still while a laptop sleeps; a wait ends by the
// wall clock, at most a slice late.
const slice = 15 * time.Second

// wait lets a wait pass, in the way the engine was told.
func (r *run) wait(w policy.Wait) error {
	switch {
	case r.engine.Sleep != nil:
		return r.engine.Sleep(r.ctx, w)
	case r.engine.Breaker != nil:
		return r.engine.Breaker.Wait(r.ctx, w.Verdict.Wait)
	}
	return r.engine.sleep(r.ctx, w.Verdict.Wait)
}

// Sleep waits for d, by the monotonic clock or the wall clock, whichever is
// there first. It returns early with context.Cause when ctx is done.
func Sleep(ctx context.Context, d time.Duration) error {
	_, err := SleepOrWake(ctx, d, nil)
	return err
}

// SleepOrWake is Sleep for somebody who can be woken: it returns true as soon as
// wake is received from.
func SleepOrWake(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	a := alarm{time.Now(), d}
	timer := time.NewTimer(min(d, slice))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-wake:
			return true, nil
		case now := <-timer.C:
			left := a.left(now)
			if left <= 0 {
				return false, nil
			}
			timer.Reset(min(left, slice))
		}
	}
}

// alarm is a wait that has begun.
type alarm struct {
	begun time.Time
	wait  time.Duration
}

// left gives how much of the wait is left, by the clock that has gone further.
// Round strips the monotonic reading, so that the wall clock is compared.
func (a alarm) left(now time.Time) time.Duration {
	return a.wait - max(now.Sub(a.begun), now.Round(0).Sub(a.begun.Round(0)))
}
