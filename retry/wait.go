package retry

import (
	"context"
	"time"
)

// slice is how often a long wait looks at the wall clock. A timer counts
// monotonic time, which stands still while a laptop sleeps; a wait ends by the
// wall clock, at most a slice late.
const slice = 15 * time.Second

// wait lets the wait of a note pass, in the way the engine was told.
func (r *run) wait(n Note) error {
	switch {
	case r.engine.Wait != nil:
		return r.engine.Wait(r.ctx, n)
	case r.engine.Gate != nil:
		return r.engine.Gate.Wait(r.ctx, n.Verdict.Wait)
	}
	return Sleep(r.ctx, n.Verdict.Wait)
}

// Sleep waits for d, by the monotonic clock or the wall clock, whichever is
// there first. It returns early with context.Cause when ctx is done.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	begun := time.Now()
	due := begun.Add(d).Round(0) // Round strips the monotonic reading: compared by the wall clock
	timer := time.NewTimer(min(d, slice))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-timer.C:
			left := min(d-now.Sub(begun), due.Sub(now.Round(0)))
			if left <= 0 {
				return nil
			}
			timer.Reset(min(left, slice))
		}
	}
}
