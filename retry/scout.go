package retry

import (
	"errors"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// rest is the wait that a scout has broken off.
type rest struct {
	note Note
	alarm
}

// pause lets the wait of a note pass. What is left of one that is cut short is
// not slept, and goes back to the budget. A scout's is kept, to be resumed.
func (r *run) pause(n Note) error {
	begun := r.engine.now()
	err := r.wait(n)
	now, a := r.engine.now(), alarm{begun, n.Verdict.Wait}
	r.waited += now.Sub(begun)
	r.rest = nil
	switch {
	case errors.Is(err, ErrEarlyProbe):
		r.rest = &rest{n, a}
	case err != nil:
		return err
	}
	r.Slept = n.Run.Slept - max(0, a.left(now))
	return nil
}

// resume goes on with the wait that the scout broke off, which counts whole
// again. If its end has come meanwhile, it is time for the try that counts.
func (r *run) resume() error {
	n := r.rest.note
	r.Slept = n.Run.Slept
	n.Verdict.Wait = r.rest.left(r.engine.now())
	if n.Verdict.Wait <= 0 {
		r.rest = nil
		return nil
	}
	return r.pause(n)
}

// ends tells whether a scout's fault ends the run whenever it comes. That the
// tries or the budget are at their end does not: the scout's try is not one of
// them.
func (r *run) ends(f *fault.Error, committed bool) bool {
	_, v := r.engine.Policy.Next(r.Run, f, committed, r.engine.now(), 0)
	return v.Stop == policy.Final || v.Stop == policy.Committed || v.Stop == policy.HintTooFar
}
