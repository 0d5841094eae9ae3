package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clip"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// agentHeader identifies one of the agents of a session.
const agentHeader = "X-Claude-Code-Agent-Id"

// Responded notes the limits that a response states, and whose it is. It implements transport.Observer.
func (s *sharedRequest) Responded(resp *http.Response) {
	s.at.noteGateway(resp)
	for _, crossed := range s.headroom.Observe(&s.room, resp.StatusCode, resp.Header) {
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
	s.headroom.Close(&s.room)
	s.room.Key, s.room.Reserve, s.room.Request = s.roomKey(), s.failover.settings.reserve, (*queued)(s)
	s.room.Adaptive = s.failover.settings.admission == AdmissionAdaptive
}

// awaitRoom waits until the limits that the upstream states leave room for a try.
func (s *sharedRequest) awaitRoom(ctx context.Context) error {
	if s.failover.settings.admission == AdmissionOff || s.resumes {
		return nil
	}
	err := s.headroom.Acquire(ctx, &s.room)
	if !s.queuedAt.IsZero() {
		s.unblocked()
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

// roomOutcome returns the outcome of a try for the limit of concurrency; nil: its answer has begun.
func roomOutcome(f *fault.Error) ratelimit.Outcome {
	switch {
	case f == nil:
		return ratelimit.Began
	case f.Kind == fault.Overloaded || f.Kind == fault.RateLimited || f.Kind == fault.Timeout:
		return ratelimit.Overloaded
	}
	return ratelimit.Failed
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
		return name + " " + clip.Text(id, idBound), true
	}
	return name, false
}

// Bytes implements ratelimit.Request.
func (q *queued) Bytes() int64 { return int64(q.body.Size()) }

// MaxTokens implements ratelimit.Request.
func (q *queued) MaxTokens() (n int64) {
	q.leader.eachPart(func(part []byte) (more bool) {
		n = ratelimit.MaxTokens(part)
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

// connected returns the calls whose clients are connected.
func (s *sharedRequest) connected() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*call(nil), s.calls...)
}

// place returns where the request waits for room below a limit; nil: it does not.
func (s *sharedRequest) place() *ratelimit.Place {
	if p, ok := s.headroom.Place(&s.room); ok {
		return &p
	}
	return nil
}

// giveUpQueued ends the requests that wait for room below the limits of an upstream. Those at its breaker are not
// among them.
func (g *Gateway) giveUpQueued(up *upstream) {
	for _, w := range g.waits.list() {
		if w.shared.where().upstream == up && w.shared.place() != nil {
			w.shared.act(GiveUp)
		}
	}
}
