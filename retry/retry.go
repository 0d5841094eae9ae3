// Package retry tries a call again until it passes, its policy says stop, or
// the caller leaves. It is the only package that waits to try again: whatever
// stands below it tries once.
//
// [Do] is for a call with one result, [Stream] for one whose answer arrives in
// parts. Both ask package policy before they wait and tell [Retrier.Watch] of
// each failed try. A run inside a run tries once, because the outer one
// decides: retries are never multiplied.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// ErrParked is what [Engine.Sleep] returns to unwind a run that is to go on
// later, perhaps in another process, from the Run in its Note.
var ErrParked = errors.New("parked")

// ErrEarlyProbe is what [Breaker.Wait] returns to have one try made before the wait is
// over, for all who wait. If it fails, that changes nothing for the call: it is
// not counted, nobody is told, and the rest of the wait goes on, unless the
// fault ends the run whenever it comes.
var ErrEarlyProbe = errors.New("scout")

// Retrier says how a call is tried again. The zero Retrier tries once. It is
// plain data: a copy may serve many calls at the same time, if its functions
// may be called so.
type Retrier struct {
	Policy  policy.Policy                            // when to try again
	Start   policy.Run                               // zero: a fresh run; a stored one goes on where it stopped
	Breaker Breaker                                  // shared with the other callers of the upstream; nil: none
	OnTry   func(Try)                                // called after each try; nil: none
	OnWait  func(policy.Wait)                        // called before each wait; nil: none
	Sleep   func(context.Context, policy.Wait) error // nil: the breaker's Wait or a timer. An error other than ErrEarlyProbe ends the run with that error
	Rand    func() float64                           // a random number in [0, 1) for the jitter; nil: math/rand/v2
	Clock   Clock                                    // the time to go by; nil: the machine's
}

// Try is the outcome of one try: it passed, it failed and another follows, it
// failed for good, or the caller left (a Fault of kind Canceled without a Stop).
type Try struct {
	N      int           // from 1. An early probe has the number of the try that it precedes
	Start  time.Time     // when the breaker let it go
	Took   time.Duration // until the outcome: of a stream, until its first content
	Fault  *fault.Error  // why it failed; nil: it passed
	Shared bool          // no request went out: the fault is one that another caller has met
	Run    policy.Run    // the run after it. The failure of an early probe is not counted
	Stop   policy.Stop   // why no other try follows; "": another does, or none is needed
	Waited time.Duration // real waiting before it
}

// Recovered reports whether the try passed after others had failed.
func (t Try) Recovered() bool { return t.Fault == nil && t.Run.Tries > 0 }

// Breaker is what all callers of an upstream share. Its methods may be called
// from many goroutines at the same time.
type Breaker interface {
	// Acquire is called before a try. It lets the try go, or blocks while another
	// call probes the upstream; a shared failure comes back as its *fault.Error
	// and counts as this call's own. Any other error, while the context lasts,
	// ends the run with that error.
	Acquire(context.Context) (Permit, error)
	// Sleep sleeps for the duration, or returns early because the upstream is
	// back, somebody said "now", or this call is to be the scout (ErrEarlyProbe). Any
	// other error ends the run with that error.
	Wait(context.Context, time.Duration) error
}

// Permit is the permission for one try.
type Permit interface {
	// Report tells the outcome; nil: the upstream answered. It is called once. A
	// fault of kind Canceled or Timeout says nothing about the upstream: the
	// caller left, or a limit of ours expired.
	Report(*fault.Error)
}

// Do calls try until it succeeds, the policy says stop, or ctx is done. try is
// given its number, 1 for the first (a scout's has that of the try it comes
// before), and a context that ends with ctx and with
// the policy's Wall; that context is done when Do returns if the policy has a
// Wall.
//
// The error is the last try's as a *fault.Error, context.Cause(ctx) when the
// caller left, or the error of Engine.Wait or of the Gate. A wait that would outlast ctx's
// deadline is not begun: the last fault comes back at once. A try's error with
// an io.Closer in its chain is closed before a wait: so it can hold what the
// caller is to have if there is no other try.
func Do[T any](ctx context.Context, e Retrier, try func(ctx context.Context, n int) (T, error)) (T, error) {
	r := run{engine: e}
	r.begin(ctx)
	for {
		v, f := attempt(&r, try)
		if f == nil {
			r.tell(nil, "")
			return v, nil
		}
		if err := r.failed(f, false); err != nil {
			var none T
			return none, err
		}
	}
}

// attempt is one try between the gate and its outcome.
func attempt[T any](r *run, try func(context.Context, int) (T, error)) (v T, f *fault.Error) {
	ctx, cancel := r.bounded()
	defer cancel()
	pass, f := r.enter(ctx)
	if f != nil {
		return v, f
	}
	defer pass.abandon()
	v, err := try(ctx, r.Tries+1)
	f = r.classify(ctx, err)
	pass.leave(f)
	return v, f
}
