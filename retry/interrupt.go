package retry

import (
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/policy"
)

// interrupted is the wait that an early probe has interrupted.
type interrupted struct {
	policy.Wait
	start time.Time
}

// wait waits. What is left of a wait that is cut short goes back to the budget.
// One that an early probe interrupts is kept, to be resumed.
func (r *run) wait(w policy.Wait) error {
	start := r.Clock.Now()
	err := r.sleep(w)
	now := r.Clock.Now()
	r.waited += now.Sub(start)
	r.interrupted = nil
	switch {
	case errors.Is(err, ErrEarlyProbe):
		r.interrupted = &interrupted{w, start}
	case err != nil:
		return r.end(err)
	}
	r.Slept = w.EndedEarly(clock.Left(start, w.Verdict.Wait, now)).Slept
	return nil
}

// sleep waits in the way that the Retrier says.
func (r *run) sleep(w policy.Wait) error {
	switch {
	case r.Sleep != nil:
		return r.Sleep(r.ctx, w)
	case r.Breaker != nil:
		return r.Breaker.Wait(r.ctx, w.Verdict.Wait)
	}
	_, err := r.Clock.SleepOrWake(r.ctx, w.Verdict.Wait, nil)
	return err
}

// resume continues the interrupted wait, which counts whole again. If its end has
// come meanwhile, it is time for the try that counts. A usage window that opens
// sooner than was stated before is not waited for any longer.
func (r *run) resume(f *fault.Error) error {
	w, now := r.interrupted.Wait, r.Clock.Now()
	r.Slept = w.Run.Slept
	w.Verdict.Wait = clock.Left(r.interrupted.start, w.Verdict.Wait, now)
	if w.Verdict.Wait <= 0 {
		r.interrupted = nil
		return nil
	}
	opens := f.RetryAfter(now)
	if w.Verdict.Window && f.Window && 0 < opens && opens < w.Verdict.Wait-restated {
		w.Fault, w.Verdict.Wait, w.Due, w.Waited = f, opens, now.Add(opens), r.waited
		w.Deadline = r.latestWait(r.Run, f, w.Verdict, now)
		if r.OnWait != nil {
			r.OnWait(w)
		}
	}
	return r.wait(w)
}

// restated is by how much a window has to open sooner to be announced again: providers round to seconds.
const restated = 2 * time.Second

// final reports whether an early probe's fault ends the run at any time. Spent
// retries and budgets do not: the probe is not one of the tries.
func (r *run) final(f *fault.Error, committed bool) bool {
	_, v := r.Policy.Next(r.Run, f, committed, r.Clock.Now(), 0)
	return v.Stop == policy.Final || v.Stop == policy.Committed || v.Stop == policy.RetryAfterTooLong
}
