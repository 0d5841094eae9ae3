package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// resumed takes the wait in which the client left the same request before; nil: there was none, or it has
// been taken, as a request goes on in it at its first upstream only.
func (s *sharedRequest) resumed() (w *policy.Wait) {
	w, s.leader.carried = s.leader.carried, nil
	if w == nil {
		s.early = false
		return nil
	}
	s.early = s.leader.answered && !w.Verdict.Hinted && w.Due.After(time.Now())
	if !w.Due.IsZero() {
		s.caller.WaitsSince(w.Due.Add(-w.Verdict.Wait)) // its place is among those that wait here
	}
	return w
}

// onWait notes and reports a wait, as much of it as the request stays for. Its parts are functions of their own: their
// copies of the wait would be on the stack below what reports it, and with them the stack of a request that waits would
// have to be twice as large.
func (s *sharedRequest) onWait(w policy.Wait) {
	s.noteWait(&w)
	s.announce(s.retryEvent())
}

// noteWait notes a wait, for the clients and the fleet too.
//
//go:noinline
func (s *sharedRequest) noteWait(w *policy.Wait) {
	bounded, _ := s.failover.Bound(*w, time.Now())
	s.setLast(bounded)
	for _, c := range s.callsWaiting() {
		c.keepalive.failed(bounded)
	}
	s.tellHeld()
}

// retryEvent returns the event of the wait that was noted last.
//
//go:noinline
func (s *sharedRequest) retryEvent() turn.Event {
	e := turn.Retry{Name: s.name(), Upstream: s.upstreamName(), Wait: s.overall(), Cache: s.cached()}
	e.Fault = s.permit.verbatim(e.Fault)
	return e
}

// sleep waits until the next try. It ends early when the upstream is back, by
// command, when the gateway drains, and when patience with the upstream ends.
func (s *sharedRequest) sleep(ctx context.Context, w policy.Wait) error {
	switch {
	case s.draining.Err() != nil:
		return errClosing
	case s.isDetached():
		return errLeft
	case !s.takePlace():
		return errNoPlace
	}
	s.tellRest(w.Verdict.Wait)
	begun := time.Now()
	err := s.failover.Sleep(ctx, w, s.sleepHere)
	s.probed = errors.Is(err, retry.ErrEarlyProbe)
	if errors.Is(err, errSkipped) {
		return route.Leave(w, time.Since(begun))
	}
	return err
}

// sleepHere is sleep for as long as the request stays at its upstream.
func (s *sharedRequest) sleepHere(ctx context.Context, w policy.Wait) error {
	if s.early { // had the client stayed, it would have been woken
		s.early = false
		return retry.ErrEarlyProbe
	}
	s.body.Compress()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.waitBegins(cancel)
	defer s.waitEnded()
	defer context.AfterFunc(s.draining, func() { cancel(errClosing) })()
	return bare(s.caller.Wait(ctx, w.Verdict.Wait))
}

// tellRest tells the clients that read it what is left of a wait in which an early probe has failed.
func (s *sharedRequest) tellRest(left time.Duration) {
	if !s.probed {
		return
	}
	s.mu.Lock()
	number := s.overall().Retry()
	s.mu.Unlock()
	s.tell(turn.Waiting{Name: s.name(), Upstream: s.upstreamName(), Retry: number, Remaining: left})
}

// waitBegins notes the begin of a wait, which skip ends for one at the fallback, if there is one.
func (s *sharedRequest) waitBegins(skip context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.skip = stateWaiting, skip
	if !s.failover.Last() {
		s.skipsTo = s.failover.others[s.failover.At].label(s.failover.origin.model)
	}
}
