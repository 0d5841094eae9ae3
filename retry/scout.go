package retry

import (
	"errors"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// rest is the wait that a scout has broken off.
type rest struct {
	policy.Wait
	alarm
}

// pause lets a wait pass. What is left of one that is cut short is
// not slept, and goes back to the budget. A scout's is kept, to be resumed.
func (r *run) pause(w policy.Wait) error {
	begun := r.engine.now()
	err := r.wait(w)
	now, a := r.engine.now(), alarm{begun, w.Verdict.Wait}
	r.waited += now.Sub(begun)
	r.rest = nil
	switch {
	case errors.Is(err, ErrEarlyProbe):
		r.rest = &rest{w, a}
	case err != nil:
		return err
	}
	r.Slept = w.Run.Slept - max(0, a.left(now))
	return nil
}

// resume goes on with the wait that the scout broke off, which counts whole
// again. If its end has come meanwhile, it is time for the try that counts.
func (r *run) resume() error {
	w := r.rest.Wait
	r.Slept = w.Run.Slept
	w.Verdict.Wait = r.rest.left(r.engine.now())
	if w.Verdict.Wait <= 0 {
		r.rest = nil
		return nil
	}
	return r.pause(w)
}

// ends tells whether a scout's fault ends the run whenever it comes. That the
// tries or the budget are at their end does not: the scout's try is not one of
// them.
func (r *run) ends(f *fault.Error, committed bool) bool {
	_, v := r.engine.Policy.Next(r.Run, f, committed, r.engine.now(), 0)
	return v.Stop == policy.Final || v.Stop == policy.Committed || v.Stop == policy.HintTooFar
}
