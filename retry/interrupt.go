package retry

import (
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/policy"
)

// announce reports the wait.
func (r *run) announce() {
	if r.OnWait != nil {
		r.OnWait(r.wait)
	}
}

// await waits. What is left of a wait that is cut short goes back to the budget.
// One that an early probe interrupts is resumed.
func (r *run) await() error {
	r.begun = r.Clock.Now()
	return r.waitEnded(r.sleep())
}

// waitEnded notes the end of the wait.
func (r *run) waitEnded(err error) error {
	now := r.Clock.Now()
	r.waited += now.Sub(r.begun)
	r.probing = errors.Is(err, ErrEarlyProbe)
	if err != nil && !r.probing {
		return r.end(err)
	}
	r.Slept = r.wait.EndedEarly(clock.Left(r.begun, r.wait.Verdict.Wait, now)).Slept
	return nil
}

// sleep waits in the way that the Retrier says.
func (r *run) sleep() error {
	switch {
	case r.Sleep != nil:
		return r.Sleep(r.ctx, r.wait)
	case r.Breaker != nil:
		return r.Breaker.Wait(r.ctx, r.wait.Verdict.Wait)
	}
	_, err := r.Clock.SleepOrWake(r.ctx, r.wait.Verdict.Wait, nil)
	return err
}

// resumes continues the interrupted wait, which counts whole again. False: its end has come meanwhile, and it is time
// for the try that counts. A usage window that opens sooner than was stated before is not waited for any longer.
func (r *run) resumes(f *fault.Error) bool {
	w, now := &r.wait, r.Clock.Now()
	r.Slept = w.Run.Slept
	w.Verdict.Wait = clock.Left(r.begun, w.Verdict.Wait, now)
	if w.Verdict.Wait <= 0 {
		r.probing = false
		return false
	}
	opens := f.RetryAfter(now)
	if w.Verdict.Window && f.Window && 0 < opens && opens < w.Verdict.Wait-restated {
		w.Fault, w.Verdict.Wait, w.Due, w.Waited = f, opens, now.Add(opens), r.waited
		w.Deadline = r.latestWait(r.Run, f, w.Verdict, now)
		r.announce()
	}
	return true
}

// restated is by how much a window has to open sooner to be announced again: providers round to seconds.
const restated = 2 * time.Second

// final reports whether an early probe's fault ends the run at any time. Spent
// retries and budgets do not: the probe is not one of the tries.
func (r *run) final(f *fault.Error, committed bool) bool {
	_, v := r.Policy.Next(r.Run, f, committed, r.Clock.Now(), 0)
	return v.Stop == policy.Final || v.Stop == policy.Committed || v.Stop == policy.RetryAfterTooLong
}
