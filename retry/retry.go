// Package retry tries a call again until it passes, its policy stops it, or the
// caller leaves. It is the only package that waits to try again: everything
// below it tries once.
//
// [Do] is for a call with one result, [Stream] for an answer that arrives in
// parts. Both ask package policy before they wait. A run inside a run tries
// once, because the outer one decides: retries are never multiplied.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/policy"
)

// Errors with which a [Breaker] or [Retrier.Sleep] ends a wait.
var (
	// ErrParked ends a run that is to continue later, perhaps in another process,
	// from the Run of its Wait. Do returns it as it is.
	ErrParked = errors.New("parked")

	// ErrGivenUp ends a run on command. Do returns an [Error] with the Stop
	// policy.GivenUp.
	ErrGivenUp = errors.New("given up")

	// ErrEarlyProbe has one try made before the wait is over. If it fails, it
	// is not counted and the rest of the wait continues, unless its fault would
	// end the run at any time.
	ErrEarlyProbe = errors.New("early probe")
)

// Retrier configures how a call is retried. The zero Retrier tries once. It is
// plain data: a copy may serve many calls at the same time, if its functions
// may be called so.
type Retrier struct {
	Policy  policy.Policy                            // when to try again
	Start   policy.Run                               // zero: a fresh run; a stored one goes on where it stopped
	Resume  *policy.Wait                             // a wait that was broken off: the run goes on in it, in place of Start; nil: none
	Breaker Breaker                                  // shared with the other callers of the upstream; nil: none
	Counts  bool                                     // a failure that another call has met counts as one of this call's own: its caller has other calls in its place
	OnTry   func(Try)                                // called after each try; nil: none
	OnWait  func(policy.Wait)                        // called before each wait; nil: none
	Sleep   func(context.Context, policy.Wait) error // nil: the Breaker's Wait or a timer; its error ends it
	Sooner  func(policy.Wait) time.Time              // a moment before which the next try had better come, as far as policy.Policy.Sooner allows; zero, or nil: none
	Held    func() time.Duration                     // how long a gateway on the way has waited in the try that failed, which counts as waiting; nil: none
	Rand    func() float64                           // a number in [0, 1) for the jitter; nil: math/rand/v2
	Clock   clock.Clock                              // for this project's simulations; nil: the machine's
}

// Try is the outcome of one try: it passed, it failed and another follows, it
// failed for good, or the caller left (a Fault of kind Canceled without a Stop).
// A stream whose answer breaks off has two: it passed, then it failed for good.
type Try struct {
	N      int           // from 1. An early probe has the number of the try that it precedes
	Start  time.Time     // when the breaker permitted it
	Took   time.Duration // until the outcome: of a stream, until its first content
	Fault  *fault.Error  // why it failed; nil: it passed
	Shared bool          // no request went out: the fault is one that another caller has met
	Run    policy.Run    // the run after it. The failure of an early probe is not counted
	Stop   policy.Stop   // why no other try follows; "": another does, or none is needed
	Waited time.Duration // real waiting before it
}

// Recovered reports whether the try passed after others had failed.
func (t Try) Recovered() bool { return t.Fault == nil && t.Run.Tries > 0 }

// Breaker is a circuit breaker that the callers of an upstream share, such as a
// *breaker.Caller. Its methods may be called from many goroutines at once.
type Breaker interface {
	// Acquire is called before a try. It permits the try, or blocks while another
	// caller probes the upstream. A *fault.Error is a shared failure: it costs this
	// call time and none of its retries, until as many have failed InRow in an outage.
	// Any other error ends the run, while the context lasts.
	Acquire(context.Context) (Permit, error)
	// Wait sleeps for the duration, or returns early because the upstream is back
	// or on command. Its error ends the run, except ErrEarlyProbe.
	Wait(context.Context, time.Duration) error
}

// Permit is the permission for one try.
type Permit interface {
	// Report takes the try's outcome; nil: the upstream answered. It is called
	// once. A fault of kind Canceled or Timeout says nothing about the upstream:
	// the caller left, or a limit of ours expired. A Timeout with the Code
	// fault.Silence does. It returns the fault, with what the other calls of
	// the upstream show about it.
	Report(*fault.Error) *fault.Error
}

// Do calls try until it passes, the policy stops the run, or ctx ends. try gets
// its number, from 1, and a context that ends with ctx and at the policy's
// Deadline. Where there is a Deadline, that context is done when Do returns.
//
// The error is an [Error] when the run has given up, context.Cause(ctx) when the
// caller has left, else that of the Breaker or of Sleep. A wait that would
// outlast ctx's deadline is not begun. What a try's error holds open, as an
// io.Closer in its chain, is closed before a wait and is the caller's at the end.
func Do[T any](ctx context.Context, r Retrier, try func(ctx context.Context, n int) (T, error)) (T, error) {
	run := run{Retrier: r}
	run.begin(ctx)
	if err := run.finishWait(); err != nil {
		var none T
		return none, err
	}
	for {
		v, f := attempt(&run, try)
		if f == nil {
			run.tell(nil, "")
			return v, nil
		}
		if err := run.failed(f, false); err != nil {
			var none T
			return none, err
		}
	}
}

// attempt makes one try.
func attempt[T any](r *run, try func(context.Context, int) (T, error)) (v T, f *fault.Error) {
	ctx, cancel := r.bounded()
	defer cancel()
	permit, f := r.acquire(ctx)
	if f != nil {
		return v, f
	}
	defer permit.abandon()
	v, err := try(ctx, r.Tries+1)
	return v, permit.report(r.classify(ctx, err))
}

// Sleep waits for d, by the monotonic clock or the wall clock, whichever is
// there first. It returns early with context.Cause when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	_, err := clock.Machine{}.SleepOrWake(ctx, d, nil)
	return err
}
