package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// wholePatience is how long an answer that is not streamed may take in any case before a fallback is asked: it
// comes whole, after as much time as its length takes.
const wholePatience = 90 * time.Second

// limits returns those of the tries at the upstream.
func (s *sharedRequest) limits() transport.Limits {
	l := s.failover.settings.limits.perTry()
	if l.Content = s.leaves(); l.FirstByte > 0 {
		l.Spent = s.silence
	}
	learns := l.Content.IsZero() && s.leader.info.Stream && !s.resumes // a try that ends for a fallback shows too little
	if s.failover.settings.limits.Learned && learns {
		kind := transport.LearnedKind{Host: s.at.baseURL.Host, Model: s.at.model}
		l.Learned = s.at.learned.Of(kind, int64(s.body.Size()))
	}
	return l
}

// leaves returns when the request goes to the next upstream if no content has come; zero: it does not.
func (s *sharedRequest) leaves() time.Time {
	end := s.failover.Leaves()
	if earliest := s.failover.Since.Add(wholePatience); !end.IsZero() && !s.leader.info.Stream && end.Before(earliest) {
		return earliest
	}
	return end
}

// acquire waits for room and for the permit for a try, until the request leaves for the next upstream. It stays
// as long as it is paused itself. A pause of the upstream is as good a reason to leave it as an outage.
func (s *sharedRequest) acquire(ctx context.Context) (retry.Permit, error) {
	end := s.failover.Leaves()
	if end.IsZero() {
		return s.acquireBoth(ctx)
	}
	bounded, cancel := context.WithDeadlineCause(ctx, end, errPatience)
	defer cancel()
	p, err := s.acquireBoth(bounded)
	switch {
	case err == nil || context.Cause(bounded) != errPatience:
		return p, err
	case s.isPaused():
		return s.caller.Acquire(ctx)
	}
	return nil, &fault.Error{Kind: fault.Timeout, Message: errPatience.Error(), Rule: "gateway/patience"}
}

// acquireBoth waits for room below the limits, and then for the breaker's permit.
func (s *sharedRequest) acquireBoth(ctx context.Context) (retry.Permit, error) {
	if err := s.awaitRoom(ctx); err != nil {
		return nil, err
	}
	p, err := s.caller.Acquire(ctx)
	if err == nil {
		s.headroom.Resume(&s.room)
	}
	return p, err
}

// blocked notes that the breaker blocks a try. There is no try in progress, so
// that Drain may end the whole request.
func (s *sharedRequest) blocked(why breaker.BlockReason) {
	state := stateQueued
	if why == breaker.Paused {
		state = statePaused
	}
	s.headroom.Yield(&s.room)
	s.block(state)
}

// block notes that a try waits to be let go.
func (s *sharedRequest) block(state string) {
	s.setState(state)
	switch {
	case s.isDetached():
		s.cancel(errLeft)
	case !s.takePlace():
		s.cancel(errNoPlace)
	}
	if s.stopDrain == nil {
		s.stopDrain = context.AfterFunc(s.draining, func() { s.cancel(errClosing) })
		s.caller.OnUnblock = s.unblocked
	}
	for _, c := range s.callsWaiting() {
		c.keepalive.waiting()
	}
}

// unblocked notes that the breaker has let the try go, or has ended it.
func (s *sharedRequest) unblocked() {
	if s.stopDrain != nil {
		s.stopDrain()
		s.stopDrain = nil
	}
	s.setState(stateTrying)
}

// errPatience is why a request that waits to be sent leaves for the next upstream.
var errPatience = errors.New("it has not been let go in time")

// isPaused reports whether an operator has paused the request.
func (s *sharedRequest) isPaused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused
}

// stop returns why the run at the upstream has ended; "": the request leaves for the next one. It does so at the
// end of patience even if the policy does not retry a timeout.
func (s *sharedRequest) stop() policy.Stop {
	stop, end := s.last.Verdict.Stop, s.failover.Leaves()
	if stop == policy.Final && s.last.Fault.Kind == fault.Timeout && !end.IsZero() && !time.Now().Before(end) {
		return ""
	}
	return stop
}
