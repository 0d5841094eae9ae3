package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/route"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// agentHeader identifies one of the agents of a session.
const agentHeader = "X-Claude-Code-Agent-Id"

// Responded notes the limits that a response states, and whose it is. It is for [transport.Transport.Observer].
func (s *sharedRequest) Responded(resp *http.Response) {
	s.at.peer.Note(resp)
	for _, crossed := range s.rooms.Observe(&s.room, resp.StatusCode, resp.Header) {
		s.leader.emit(Event{Crossed: &crossed})
	}
}

// roomKey returns whose limits the request is charged against.
func (s *sharedRequest) roomKey() ratelimit.Key {
	return ratelimit.Key{Upstream: s.at.Name, Credential: s.leader.credentialFor(s.at.upstream), Model: s.at.model}
}

// enterQueue has the next tries wait for room below the limits of the upstream. mu is held, or no other goroutine knows
// the request.
func (s *sharedRequest) enterQueue() {
	s.rooms.Close(&s.room)
	s.room.Key, s.room.Reserve, s.room.Request = s.roomKey(), s.failover.settings.reserve, (*queued)(s)
}

// awaitRoom waits until the limits that the upstream states leave room for a try.
func (s *sharedRequest) awaitRoom(ctx context.Context) error {
	if s.failover.settings.admission == AdmissionOff {
		return nil
	}
	err := s.rooms.Acquire(ctx, &s.room)
	if !s.queuedAt.IsZero() {
		s.endWait()
		for _, c := range s.connected() {
			c.keepalive.queueEnded()
		}
		if waited := time.Since(s.queuedAt); waited >= queueTold || s.waitTold {
			s.leader.emit(Event{Admitted: max(waited, 1)})
		}
		s.queuedAt, s.waitTold = time.Time{}, false
	}
	if err != nil && errors.Is(context.Cause(ctx), errPatience) {
		return errPatience
	}
	return err
}

// A wait for room is an event from queueTold on, and worth compressing the body from compressFrom on.
const (
	queueTold    = time.Second
	compressFrom = 5 * time.Second
)

// queued is a shared request as package ratelimit knows it.
type queued sharedRequest

// Flow implements ratelimit.Request: requests without a session are in turn with all of their credential.
func (q *queued) Flow() (name string, agent bool) {
	c := q.leader
	name = c.info.Session
	if name == "" {
		name = c.credential
	}
	if id := c.r.Header.Get(agentHeader); id != "" {
		return name + " " + text.Clip(id, idBound), true
	}
	return name, false
}

// Bytes implements ratelimit.Request.
func (q *queued) Bytes() int64 { return int64(q.body.Size()) }

// MaxTokens implements ratelimit.Request.
func (q *queued) MaxTokens() (n int64) {
	q.leader.eachPart(func(part []byte) (more bool) {
		n = api.MaxTokens(part)
		return n == 0
	})
	return n
}

// Waits implements ratelimit.Request. There is no try in progress.
func (q *queued) Waits(p ratelimit.Place) {
	s := (*sharedRequest)(q)
	s.queuedAt = time.Now()
	if p.In > compressFrom {
		s.body.Compress()
	}
	s.block(stateQueued)
	for _, c := range s.connected() {
		c.keepalive.queueBegan(s)
	}
	if s.waitTold = p.In >= queueTold; s.waitTold {
		s.leader.emit(Event{Queued: &p})
	}
}

// wholePatience is how long an answer that is not streamed may take in any case before a fallback is asked: it
// comes whole, after as much time as its length takes.
const wholePatience = 90 * time.Second

// limits returns those of the tries at the upstream.
func (s *sharedRequest) limits() transport.Limits {
	l := s.failover.settings.limits.perTry()
	if l.Content = s.leaves(); l.FirstByte > 0 {
		l.Spent = s.silence
	}
	return l
}

// learned returns what is learned of the upstream; nil: nothing is, as a try that ends for a fallback shows too little.
func (s *sharedRequest) learned(l transport.Limits) *transport.Learned {
	if s.failover.settings.limits.Learned && l.Content.IsZero() && s.leader.info.Stream {
		return s.at.learned
	}
	return nil
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
	return s.caller.Acquire(ctx)
}

// errPatience is why a request that waits to be sent leaves for the next upstream.
var errPatience = errors.New("it has not been let go in time")

// stop returns why the run at the upstream has ended; "": the request leaves for the next one. It does so at the
// end of patience even if the policy does not retry a timeout.
func (s *sharedRequest) stop() policy.Stop {
	stop, end := s.last.Verdict.Stop, s.failover.Leaves()
	if stop == policy.Final && s.last.Fault.Kind == fault.Timeout && !end.IsZero() && !time.Now().Before(end) {
		return ""
	}
	return stop
}

// resumed takes the wait in which the client left the same request before; nil: there was no such wait, or it
// has been taken, as a request resumes it at its first upstream only.
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

// onWait notes and reports a wait, as much of it as the request stays for.
func (s *sharedRequest) onWait(w policy.Wait) {
	s.noteWait(&w)
	s.announce(s.retryEvent())
}

// noteWait notes a wait, for the clients and the fleet too.
func (s *sharedRequest) noteWait(w *policy.Wait) {
	bounded, _ := s.failover.Bound(*w, time.Now())
	s.setLast(bounded)
	for _, c := range s.callsWaiting() {
		c.keepalive.failed(bounded)
	}
	if s.setup.fleet != nil {
		s.tellHeld()
	}
}

// retryEvent returns the event of the wait that was noted last.
func (s *sharedRequest) retryEvent() turn.Event {
	e := turn.Retry{Name: s.name(), Upstream: s.upstreamName(), Wait: s.overall(), Cache: s.cached()}
	e.Fault = s.permit.verbatim(e.Fault)
	return e
}

// sleep waits until the next try. It ends early when the upstream is back, by
// command, when the gateway drains, and when patience with the upstream ends.
func (s *sharedRequest) sleep(ctx context.Context, w policy.Wait) error {
	if err := s.mayWait(); err != nil {
		return err
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

// onHold notes and reports an event of another gateway that holds the try; nil: it no longer holds it. That gateway
// decides when it asks again. To the clients the wait is this one's.
func (s *sharedRequest) onHold(e turn.Event, h *preamble.Hold) {
	switch e := e.(type) {
	case nil:
		s.endHold()
	case turn.Retry:
		s.beginHeldWait(e.Wait, h)
		for _, c := range s.callsWaiting() {
			c.keepalive.failed(e.Wait)
		}
		s.announce(turn.Retry{Name: s.name(), Upstream: s.upstreamName(), Wait: e.Wait, Cache: e.Cache})
	case turn.Waiting:
		s.tell(turn.Waiting{Name: s.name(), Upstream: s.upstreamName(), Retry: e.Retry, Remaining: e.Remaining})
	case turn.Recovered:
		s.announce(turn.Recovered{Name: s.name(), Upstream: s.upstreamName(), Retries: e.Retries, Waited: e.Waited})
	}
}

// announced returns a context that announces a caller to the upstream, and the caller; nil: the upstream cannot be a
// gateway.
func (s *sharedRequest) announced(ctx context.Context) (context.Context, *preamble.Caller) {
	if !s.at.peer.MayBeGateway(&s.at.baseURL) {
		return ctx, nil
	}
	caller := &preamble.Caller{Budget: s.waitLeft, OnEvent: s.onHold}
	return preamble.With(ctx, caller), caller
}

// bounded reports whether the client allows less waiting than the policy.
func (s *sharedRequest) bounded() bool {
	own := s.failover.settings.policy.MaxWait
	return s.maxWait > 0 && (own == 0 || s.maxWait < own)
}

// requestBreaker is the upstream's breaker as the tries of a shared request know it.
type requestBreaker sharedRequest

// Acquire implements retry.Breaker.
func (b *requestBreaker) Acquire(ctx context.Context) (retry.Permit, error) {
	p, err := (*sharedRequest)(b).acquire(ctx)
	b.permit = quotePermit{Permit: p, call: b.leader}
	if err != nil {
		return nil, bare(err)
	}
	return &b.permit, nil
}

// Wait implements retry.Breaker.
func (b *requestBreaker) Wait(ctx context.Context, d time.Duration) error {
	return b.caller.Wait(ctx, d)
}

// bare returns errGivenUp for the end of a run by command.
func bare(err error) error {
	if errors.Is(err, retry.ErrGivenUp) {
		return errGivenUp
	}
	return err
}

// onTry reports a try, and notes one that no other follows.
func (s *sharedRequest) onTry(t retry.Try) {
	s.tries++
	if !t.Shared && t.Fault != nil {
		s.rooms.Failed(&s.room, t.Fault)
	}
	s.mu.Lock()
	silent := t.Fault != nil && t.Fault.Kind == fault.Canceled && !s.open
	s.open = false
	if t.Fault == nil {
		s.sent = t.Start
	}
	s.mu.Unlock()
	if silent {
		s.silence += t.Took
	} else {
		s.silence = 0
	}
	if s.setup.onEvent != nil {
		numbered := t
		numbered.N = s.tries
		s.leader.emit(Event{Try: numbered})
	}
	if t.Stop == policy.Final && t.Fault.GivenUp {
		t.Stop = policy.Exhausted // by another gateway, which has retried it
	}
	switch {
	case t.Stop != "":
		s.setLast(policy.Wait{Run: t.Run, Fault: t.Fault, Verdict: policy.Verdict{Stop: t.Stop}, Waited: t.Waited})
	case t.Recovered():
		s.recovered(t.Run, t.Waited)
	}
}
