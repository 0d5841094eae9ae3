package retry

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/policy"
)

// run is the state of one call.
type run struct {
	policy.Run
	engine Retrier
	ctx    context.Context // the caller's, marked: what stands below must not retry by itself
	waited time.Duration
	try    Try   // the one under way or just over; N is 0 if the breaker let none go
	rest   *rest // what is left to wait when the try under way is a scout's and fails
	ended  error // the gate's word that ends the run
}

// begin starts a run, or goes on with a stored one. Inside another run it
// makes one that tries once and says nothing: the outer one decides, tells and
// holds the pass of its gate.
func (r *run) begin(ctx context.Context) {
	if e := &r.engine; Nested(ctx) {
		*e = Retrier{Policy: policy.Policy{Deadline: e.Policy.Deadline}, Clock: e.Clock}
	} else {
		ctx = marked{ctx}
	}
	r.ctx = ctx
	r.Run, r.waited = r.engine.Start, r.engine.Start.Slept
	if r.Started.IsZero() && r.engine.Policy.Deadline > 0 {
		r.Started = r.engine.now() // without a Wall the first failure is early enough: most calls have none
	}
}

// enter asks the gate for a try, for as long as ctx lasts. A gate's error that
// is no fault ends the run.
func (r *run) enter(ctx context.Context) (gatePass, *fault.Error) {
	if r.engine.Breaker == nil {
		r.started(false)
		return gatePass{}, nil
	}
	r.try = Try{}
	pass, err := r.engine.Breaker.Acquire(ctx)
	if err == nil {
		r.started(false)
		return gatePass{pass}, nil
	}
	_, shared := err.(*fault.Error) // not AsType: a fault inside another error is not shared
	switch {
	case shared:
		r.started(true)
	case ctx.Err() == nil:
		r.ended = err
	}
	return gatePass{}, r.classify(ctx, err)
}

// started notes that a try begins.
func (r *run) started(shared bool) {
	r.try = Try{N: r.Tries + 1, Shared: shared}
	if r.engine.OnTry != nil {
		r.try.Start = r.engine.now()
	}
}

// tell calls OnTry with the outcome of the try, if there was one.
func (r *run) tell(f *fault.Error, stop policy.Stop) {
	if r.engine.OnTry == nil || r.try.N == 0 {
		return
	}
	t := r.try
	t.Took = r.engine.now().Sub(t.Start)
	t.Fault, t.Run, t.Stop, t.Waited = f, r.Run, stop, r.waited
	r.engine.OnTry(t)
}

// bounded gives a try's context: the caller's, ended by the policy's Wall.
func (r *run) bounded() (context.Context, context.CancelFunc) {
	wall := r.engine.Policy.Deadline
	if wall == 0 {
		return r.ctx, func() {}
	}
	spent := &fault.Error{
		Kind:    fault.Timeout,
		Message: "the time budget of " + wall.String() + " is spent",
		Rule:    "retry/wall",
	}
	return r.engine.until(r.ctx, r.Started.Add(wall), spent)
}

// classify turns a try's error into its fault; nil stays nil. When the caller
// has left, or a limit of ours has ended the try, that is what happened, whatever
// the error says: the gate must not take it for the upstream's.
func (r *run) classify(ctx context.Context, err error) *fault.Error {
	switch {
	case err == nil:
		return nil
	case r.ctx.Err() != nil:
		return &fault.Error{Kind: fault.Canceled, Message: "the caller has left", Err: err, Rule: "retry/left"}
	case ctx.Err() != nil:
		if limit, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok {
			expired := *limit
			expired.Err = err
			return &expired
		}
	}
	return classify.Of(err, r.engine.now())
}

// failed counts a failed try, tells of it and waits for the next one. It
// returns nil when it is time for that, or the error that ends the run. What
// the failed try holds open is the caller's if its fault is returned.
func (r *run) failed(f *fault.Error, committed bool) error {
	held := true
	defer func() {
		if held {
			release(f)
		}
	}()
	switch {
	case r.ctx.Err() != nil:
		r.tell(f, "")
		return context.Cause(r.ctx)
	case r.ended != nil:
		return r.ended
	case r.rest != nil && !r.ends(f, committed):
		r.tell(f, "")
		held = false
		release(f)
		return r.resume()
	}
	w := r.decide(f, committed)
	r.tell(f, w.Verdict.Stop)
	held = false
	if stop := w.Verdict.Stop; stop != "" {
		return &Error{Tries: r.Tries, Waited: r.waited, Stop: stop, Last: f}
	}
	release(f)
	if r.engine.OnWait != nil {
		r.engine.OnWait(w)
	}
	return r.pause(w)
}

// release closes what a failed try's error still holds open, such as a
// response: a wait holds no connection.
func release(f *fault.Error) {
	if held, ok := errors.AsType[interface {
		error
		io.Closer
	}](f); ok {
		_ = held.Close() // the try has failed already
	}
}

// decide asks the policy what follows the failed try. A wait that would
// outlast the caller's own deadline is not begun.
func (r *run) decide(f *fault.Error, committed bool) policy.Wait {
	now := r.engine.now()
	if r.Started.IsZero() {
		r.Started = now
	}
	p := r.engine.Policy
	next, v := p.Next(r.Run, f, committed, now, r.dice())
	if end, ok := r.ctx.Deadline(); ok && v.Stop == "" && !now.Add(v.Wait).Before(end) {
		next.Slept = r.Slept
		v = policy.Verdict{Stop: policy.OverBudget}
	}
	w := policy.Wait{
		Run: next, Fault: f, Verdict: v, Due: now.Add(v.Wait), Limit: p.Retries,
		Deadline: p.LatestWait(r.Run, now), Waited: r.waited,
	}
	r.Run = next
	return w
}

func (r *run) dice() float64 {
	if r.engine.Rand == nil {
		return rand.Float64()
	}
	return r.engine.Rand()
}

// gatePass is a gate's pass that may be missing or used already.
type gatePass struct{ Permit }

// leave tells the gate the outcome, once.
func (p *gatePass) leave(f *fault.Error) {
	if p.Permit != nil {
		p.Permit.Report(f)
		p.Permit = nil
	}
}

// abandon gives the pass of a try back that has panicked.
func (p *gatePass) abandon() {
	if p.Permit != nil {
		p.leave(&fault.Error{Kind: fault.Unknown, Message: "the try panicked", Rule: "retry/panic"})
	}
}
