package retry

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/policy"
)

// run is the state of one call.
type run struct {
	Retrier
	policy.Run
	ctx    context.Context // the caller's, marked: what is below must not retry by itself
	waited time.Duration
	try    Try          // the one in progress or just over; N is 0 if the breaker permitted none
	last   *fault.Error // of the last try that counts; nil: none has failed here
	ended  error        // the breaker's error that ends the run

	wait    policy.Wait // the latest one
	begun   time.Time   // when it began
	probing bool        // an early probe has interrupted it: what is left of it follows if that fails
}

// begin starts a run, or continues a stored one. Inside another run it tries
// once without hooks and breaker, which are the outer one's.
func (r *run) begin(ctx context.Context) {
	if Nested(ctx) {
		r.Retrier = Retrier{Policy: policy.Policy{Deadline: r.Policy.Deadline}, Clock: r.Clock}
	} else {
		ctx = runContext{ctx}
	}
	r.ctx, r.Clock = ctx, clock.Or(r.Clock)
	r.Run = r.Start
	if r.Resume != nil {
		r.Run, r.last = r.Resume.Run, r.Resume.Fault
	}
	r.waited = r.Slept
	if w := r.Resume; w != nil && w.Verdict.Window { // of which the budget knows nothing
		r.waited = w.Waited + w.Verdict.Wait
	}
	if r.Started.IsZero() && r.Policy.Deadline > 0 {
		r.Started = r.Clock.Now() // without a Deadline the first failure is early enough: most calls have none
	}
}

// finishWait waits for what is left of the wait in which the run resumes. The whole wait counts, since its
// beginning has passed, though not in this run.
func (r *run) finishWait() error {
	if r.Resume == nil {
		return nil
	}
	left := r.Resume.Due.Sub(r.Clock.Now())
	if left <= 0 {
		return nil
	}
	r.wait = *r.Resume
	r.wait.Verdict.Wait = min(left, r.wait.Verdict.Wait) // a clock that was set back does not lengthen it
	r.waited -= r.wait.Verdict.Wait
	r.wait.Waited = r.waited
	r.announce()
	return r.await()
}

// acquire asks the breaker to permit a try. An error that is no fault ends the
// run, while ctx lasts.
func (r *run) acquire(ctx context.Context) (permit, *fault.Error) {
	r.try = Try{}
	if r.Breaker == nil {
		r.started(false)
		return permit{}, nil
	}
	p, err := r.Breaker.Acquire(ctx)
	if err == nil {
		r.started(false)
		return permit{p}, nil
	}
	_, shared := err.(*fault.Error) // not AsType: a fault inside another error is not shared
	switch {
	case shared:
		r.started(true)
	case ctx.Err() == nil:
		r.ended = err
	}
	return permit{}, r.classify(ctx, err)
}

// started notes that a try begins.
func (r *run) started(shared bool) {
	r.try = Try{N: r.Tries + 1, Shared: shared}
	if r.OnTry != nil {
		r.try.Start = r.Clock.Now()
	}
}

// tell calls OnTry with the outcome of the try, if there was one.
func (r *run) tell(f *fault.Error, stop policy.Stop) {
	if r.OnTry == nil || r.try.N == 0 {
		return
	}
	t := r.try
	t.Took = r.Clock.Now().Sub(t.Start)
	t.Fault, t.Run, t.Stop, t.Waited = f, r.Run, stop, r.waited
	r.OnTry(t)
}

// bounded returns a try's context: the caller's, ended at the policy's Deadline.
func (r *run) bounded() (context.Context, context.CancelFunc) {
	budget := r.Policy.Deadline
	if budget == 0 {
		return r.ctx, func() {}
	}
	return r.Clock.WithDeadline(r.ctx, r.Started.Add(budget), &fault.Error{
		Kind:    fault.Timeout,
		Message: "the time budget of " + budget.String() + " is spent",
		Rule:    "retry/deadline",
	})
}

// classify turns a try's error into its fault; nil stays nil. That the caller
// has left, or that a limit of ours has expired, precedes what the error says:
// it must not be taken for the upstream's.
func (r *run) classify(ctx context.Context, err error) *fault.Error {
	switch {
	case err == nil:
		return nil
	case r.ctx.Err() != nil:
		return &fault.Error{Kind: fault.Canceled, Message: "the caller has left", Err: err, Rule: "retry/left"}
	}
	if limit, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok {
		expired := *limit
		expired.Err = err
		return &expired
	}
	return classify.Of(err, r.Clock.Now())
}

// failed decides about a failed try and waits for the next one. It returns the
// error that ends the run; nil: it is time for the next try.
func (r *run) failed(f *fault.Error, committed bool) error {
	if err := r.decide(f, committed); err != nil {
		return err
	}
	switch {
	case !r.probing:
		r.announce()
	case !r.resumes(f):
		return nil
	}
	return r.await()
}

// decide sets the wait that follows a failed try, or returns the error that ends the
// run. Unless that error carries the fault, everything that it holds open is closed.
func (r *run) decide(f *fault.Error, committed bool) error {
	kept := false
	defer func() {
		if !kept {
			release(f)
		}
	}()
	switch {
	case r.ctx.Err() != nil:
		r.tell(f, "")
		return context.Cause(r.ctx)
	case r.ended != nil:
		return r.end(r.ended)
	case r.probing && !r.final(f, committed):
		r.tell(f, "")
		return nil
	}
	r.probing = false
	if r.Held != nil {
		held := r.Held()
		r.Slept, r.waited = r.Slept+held, r.waited+held
	}
	r.next(f, committed)
	stop := r.wait.Verdict.Stop
	r.tell(f, stop)
	if stop != "" {
		kept = true
		return &Error{Tries: r.Tries, Waited: r.waited, Stop: stop, Last: f}
	}
	return nil
}

// next asks the policy what follows a failed try. A wait that would outlast the
// caller's own deadline is not begun.
func (r *run) next(f *fault.Error, committed bool) {
	now := r.Clock.Now()
	if r.Started.IsZero() {
		r.Started = now
	}
	var next policy.Run
	var v policy.Verdict
	if r.try.Shared && !r.Counts {
		next, v = r.Policy.NextShared(r.Run, f, now, r.random())
	} else {
		next, v = r.Policy.Next(r.Run, f, committed, now, r.random())
	}
	if end, ok := r.ctx.Deadline(); ok && v.Stop == "" && !now.Add(v.Wait).Before(end) {
		next.Slept = r.Slept
		v = policy.Verdict{Stop: policy.OverBudget}
	}
	r.wait = policy.Wait{
		Run: next, Fault: f, Verdict: v, Due: now.Add(v.Wait), Limit: r.Policy.Limit(next, f),
		Deadline: r.latestWait(next, f, v, now), Waited: r.waited,
	}
	r.Run, r.last = next, f
	if r.Sooner != nil && v.Stop == "" {
		r.wait = r.Policy.Sooner(r.wait, r.Sooner(r.wait))
	}
}

// latestWait returns the latest moment at which the run may still be waiting after a fault; next is the run with
// that counted in. What the policy schedules begins when a usage window has opened.
func (r *run) latestWait(next policy.Run, f *fault.Error, v policy.Verdict, now time.Time) time.Time {
	limited := r.Policy
	if limit := limited.Limit(next, f); limit != policy.Unlimited {
		limited.Retries = limit - next.Free
	}
	if v.Window {
		now = now.Add(v.Wait)
	}
	return limited.LatestWait(r.Run, now)
}

// end returns the error of a run that the breaker or Sleep has ended.
func (r *run) end(err error) error {
	if errors.Is(err, ErrGivenUp) {
		return &Error{Tries: r.Tries, Waited: r.waited, Stop: policy.GivenUp, Last: r.last}
	}
	return err
}

func (r *run) random() float64 {
	if r.Rand == nil {
		return rand.Float64()
	}
	return r.Rand()
}

// release closes what a failed try's error holds open, such as a response: a
// wait holds no connection.
func release(f *fault.Error) {
	if held, ok := errors.AsType[interface {
		error
		io.Closer
	}](f); ok {
		_ = held.Close() // the try has failed already
	}
}

// permit is a breaker's Permit that may be missing or used already.
type permit struct{ Permit }

// report hands the outcome to the breaker, once, and returns what it makes of it.
func (p *permit) report(f *fault.Error) *fault.Error {
	if p.Permit != nil {
		f = p.Report(f)
		p.Permit = nil
	}
	return f
}

// abandon returns the permit of a try that has panicked.
func (p *permit) abandon() {
	if p.Permit != nil {
		p.report(&fault.Error{Kind: fault.Unknown, Message: "the try panicked", Rule: "retry/panic"})
	}
}
