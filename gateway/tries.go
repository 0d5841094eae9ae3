package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// enterBreaker gets what the flight needs at the gate of its upstream. What
// somebody has said about it holds there as well. Nobody else knows the flight
// yet, or mu is held.
func (s *sharedRequest) enterBreaker() {
	s.caller = s.upstream.breaker.Caller(breaker.Scope{Model: s.leader.parsed.Model, Credential: s.leader.credentialFor(s.upstream)})
	s.caller.OnBlock = s.blocked
	if s.paused {
		s.caller.Pause()
	}
	if s.givenUp {
		s.caller.GiveUp()
	}
}

// Enter lets a try go as the upstream's gate says.
func (s *sharedRequest) Acquire(ctx context.Context) (retry.Permit, error) {
	pass, err := s.caller.Acquire(ctx)
	s.unblocked()
	if errors.Is(err, retry.ErrGivenUp) {
		return nil, errGivenUp
	}
	s.mu.Lock()
	s.tries++
	s.tryStarted, s.open = time.Now(), false
	s.mu.Unlock()
	if shared, ok := errors.AsType[*fault.Error](err); ok {
		s.tellTry(shared, true)
	}
	if err != nil {
		return nil, err
	}
	return reportingPermit{s, pass}, nil
}

// reportingPermit is the pass of a try that tells of its outcome.
type reportingPermit struct {
	*sharedRequest
	pass retry.Permit
}

// Leave tells the gate and whoever watches.
func (p reportingPermit) Report(f *fault.Error) {
	p.pass.Report(f)
	p.tellTry(f, false)
}

// tellTry tells the outcome of a try.
func (s *sharedRequest) tellTry(outcome *fault.Error, shared bool) {
	if s.setup.onEvent == nil {
		return
	}
	s.leader.tell(Event{Type: Tried, Try: Try{
		N: s.tries, Upstream: s.upstream.Name, Began: s.tryStarted, Took: time.Since(s.tryStarted), Fault: outcome, Shared: shared,
	}})
}

// Wait is not used: the engine is given wait.
func (s *sharedRequest) Wait(ctx context.Context, d time.Duration) error {
	return s.caller.Wait(ctx, d)
}

// onTry notes a try that no other follows.
func (s *sharedRequest) onTry(t retry.Try) {
	if t.Stop != "" || t.Recovered() {
		s.watch(noteOfTry(t))
	}
}

// onWait notes a wait.
func (s *sharedRequest) onWait(w policy.Wait) { s.watch(noteOfWait(w)) }

// watch notes a failed try, or recovery.
func (s *sharedRequest) watch(n Note) {
	s.mu.Lock()
	s.note, s.since = n, time.Now()
	s.mu.Unlock()
	switch {
	case n.Fault == nil:
		s.leader.tell(Event{Type: Recovered, Note: s.withAllTries(n)})
	case n.Verdict.Stop == "":
		if left, ok := s.failover.patience(n.Fault); ok { // it may go on elsewhere before
			n.Verdict.Wait = min(n.Verdict.Wait, max(left, 0))
		}
		for _, c := range s.callsWaiting() {
			c.keepalive.failed(n)
		}
		s.leader.tell(Event{Type: Retrying, Note: s.withAllTries(n)})
	}
}

// withAllTries gives a note that counts the tries at all upstreams.
func (s *sharedRequest) withAllTries(n Note) Note {
	n.Run.Tries += s.triesBefore
	return n
}

// callsWaiting gives the calls whose clients are there, now that they have to wait.
func (s *sharedRequest) callsWaiting() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		s.waits.add(c, s)
	}
	return slices.Clone(s.calls)
}

// blocked is told that a try has to wait at the gate. Nothing of it is under
// way, so that a gateway that is drained may end the whole flight there.
func (s *sharedRequest) blocked(why breaker.BlockReason) {
	state := Queued
	if why == breaker.Paused {
		state = Paused
	}
	s.setState(state)
	if s.stopDrain == nil {
		s.stopDrain = context.AfterFunc(s.draining, func() { s.cancel(errClosing) })
	}
	for _, c := range s.callsWaiting() {
		c.keepalive.waiting()
	}
}

// unblocked is for a try that has got through the gate, or not.
func (s *sharedRequest) unblocked() {
	if s.stopDrain != nil {
		s.stopDrain()
		s.stopDrain = nil
	}
	s.setState(Trying)
}

// view sleeps until the next try. It ends early where the upstream is back,
// where somebody says so, when the gateway is drained and when the patience
// with this upstream ends.
func (s *sharedRequest) wait(ctx context.Context, n policy.Wait) error {
	if s.draining.Err() != nil {
		return errClosing
	}
	d, last := n.Verdict.Wait, false
	if left, ok := s.failover.patience(n.Fault); ok && left <= d {
		d, last = left, true
	}
	if last && d <= 0 {
		return errSwitch
	}
	s.body.Compress()
	s.noteWaiting(d)
	defer s.setState(Trying)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.draining, func() { cancel(errClosing) })()
	begun := time.Now()
	err := s.caller.Wait(ctx, d)
	switch {
	case err == nil && last && time.Since(begun) >= d:
		return errSwitch
	case errors.Is(err, retry.ErrGivenUp):
		return errGivenUp
	}
	return err
}

// noteWaiting says that the flight waits for so long.
func (s *sharedRequest) noteWaiting(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.due = Waiting, time.Now().Add(d)
}
