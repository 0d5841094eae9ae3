package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/retry"
)

// enterGate gets what the flight needs at the gate of its upstream. What
// somebody has said about it holds there as well. Nobody else knows the flight
// yet, or mu is held.
func (f *flight) enterGate() {
	f.pass = f.at.gate.Caller(breaker.Scope{Model: f.lead.asked.Model, Credential: f.lead.credential(f.at)})
	f.pass.OnBlock = f.blocked
	if f.kept {
		f.pass.Pause()
	}
	if f.over {
		f.pass.GiveUp()
	}
}

// Enter lets a try go as the upstream's gate says.
func (f *flight) Acquire(ctx context.Context) (retry.Permit, error) {
	pass, err := f.pass.Acquire(ctx)
	f.unblocked()
	if errors.Is(err, breaker.ErrGivenUp) {
		return nil, breaker.ErrGivenUp
	}
	f.mu.Lock()
	f.sent++
	f.begun, f.open = time.Now(), false
	f.mu.Unlock()
	if shared, ok := errors.AsType[*fault.Error](err); ok {
		f.tried(shared, true)
	}
	if err != nil {
		return nil, err
	}
	return passing{f, pass}, nil
}

// passing is the pass of a try that tells of its outcome.
type passing struct {
	*flight
	pass retry.Permit
}

// Leave tells the gate and whoever watches.
func (p passing) Report(f *fault.Error) {
	p.pass.Report(f)
	p.tried(f, false)
}

// tried tells the outcome of a try.
func (f *flight) tried(outcome *fault.Error, shared bool) {
	if f.setup.watch == nil {
		return
	}
	f.lead.tell(Event{Type: Tried, Try: Try{
		N: f.sent, Upstream: f.at.Name, Began: f.begun, Took: time.Since(f.begun), Fault: outcome, Shared: shared,
	}})
}

// Wait is not used: the engine is given wait.
func (f *flight) Wait(ctx context.Context, d time.Duration) error { return f.pass.Wait(ctx, d) }

// watch is told of each failed try and of recovery.
func (f *flight) watch(n retry.Note) {
	f.mu.Lock()
	f.note, f.since = n, time.Now()
	f.mu.Unlock()
	switch {
	case n.Fault == nil:
		f.lead.tell(Event{Type: Recovered, Note: f.inAll(n)})
	case n.Verdict.Stop == "":
		if left, ok := f.route.patience(n.Fault); ok { // it may go on elsewhere before
			n.Verdict.Wait = min(n.Verdict.Wait, max(left, 0))
		}
		for _, c := range f.held() {
			c.hold.fault(n)
		}
		f.lead.tell(Event{Type: Retrying, Note: f.inAll(n)})
	}
}

// inAll gives a note that counts the tries at all upstreams.
func (f *flight) inAll(n retry.Note) retry.Note {
	n.Run.Tries += f.elsewhere
	return n
}

// held gives the calls whose clients are there, now that they have to wait.
func (f *flight) held() []*call {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		f.waiting.add(c, f)
	}
	return slices.Clone(f.calls)
}

// blocked is told that a try has to wait at the gate. Nothing of it is under
// way, so that a gateway that is drained may end the whole flight there.
func (f *flight) blocked(why breaker.BlockReason) {
	state := Queued
	if why == breaker.Paused {
		state = Paused
	}
	f.set(state)
	if f.drained == nil {
		f.drained = context.AfterFunc(f.draining, func() { f.cancel(errClosing) })
	}
	for _, c := range f.held() {
		c.hold.begin()
	}
}

// unblocked is for a try that has got through the gate, or not.
func (f *flight) unblocked() {
	if f.drained != nil {
		f.drained()
		f.drained = nil
	}
	f.set(Trying)
}

// wait sleeps until the next try. It ends early where the upstream is back,
// where somebody says so, when the gateway is drained and when the patience
// with this upstream ends.
func (f *flight) wait(ctx context.Context, n retry.Note) error {
	if f.draining.Err() != nil {
		return errClosing
	}
	d, last := n.Verdict.Wait, false
	if left, ok := f.route.patience(n.Fault); ok && left <= d {
		d, last = left, true
	}
	if last && d <= 0 {
		return errSwitch
	}
	f.body.pack()
	f.sleep(d)
	defer f.set(Trying)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(f.draining, func() { cancel(errClosing) })()
	begun := time.Now()
	err := f.pass.Wait(ctx, d)
	switch {
	case err == nil && last && time.Since(begun) >= d:
		return errSwitch
	case errors.Is(err, breaker.ErrGivenUp):
		return breaker.ErrGivenUp // without its fault: the transport is to answer with nothing
	}
	return err
}

// sleep says that the flight waits for so long.
func (f *flight) sleep(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state, f.due = Waiting, time.Now().Add(d)
}
