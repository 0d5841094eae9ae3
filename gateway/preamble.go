package gateway

import (
	"context"
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clip"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// A client of this project, an agent or another gateway, is told of the wait of its request in a preamble to the
// answer. There is no other keepalive then, and no status is lost: the answer has its own behind the preamble.

// waitingEvery is how often the rest of a wait is told.
const waitingEvery = 30 * time.Second

// tell adds an event of the shared request to the preambles of its calls.
func (s *sharedRequest) tell(e turn.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		c.keepalive.tell(e)
	}
}

// tell adds an event to the preamble, if the client reads one. It begins with the first retry.
func (k *keepalive) tell(e turn.Event) {
	if k == nil || k.call.preamble == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.middle != nil {
		return // the preamble is over
	}
	k.call.preamble.Tell(e)
	switch e := e.(type) {
	case turn.Retry:
		k.retry, k.told, k.trying = &e, time.Now(), false
		k.schedule(0)
	case turn.Waiting:
		k.told, k.trying = time.Now(), false
	}
	if k.committed && !k.stopped && k.sending == nil {
		k.timer.Reset(0)
	}
}

// tries notes that a try is made before the wait that the preamble has told of is over: nothing is told of the wait until
// that has failed.
func (k *keepalive) tries() {
	if k == nil || k.call.preamble == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trying = true
}

// ongoing returns the event of the wait that the request is in, for a call that joins it; false: it is in none.
func (s *sharedRequest) ongoing() (turn.Retry, bool) {
	s.mu.Lock()
	w, at, cache := s.overall(), s.at, s.cached()
	s.mu.Unlock()
	w.Verdict.Wait = max(0, time.Until(w.Due))
	return turn.Retry{Name: llm.Name{Provider: s.leader.info.API, Model: at.model}, Upstream: at.Name, Wait: w, Cache: cache}, w.Fault != nil
}

// nextLines returns what is written to the preamble next. mu is held.
func (k *keepalive) nextLines(p *preamble.Writer) []byte {
	if r := k.retry; r != nil && !k.trying && !p.Pending() && time.Since(k.told) >= waitingEvery && time.Until(r.Due) > 0 {
		k.told = time.Now()
		p.Tell(turn.Waiting{Name: r.Name, Upstream: r.Upstream, Retry: r.Retry(), Remaining: time.Until(r.Due)})
	}
	return p.Take()
}

// waitLeft returns the longest wait that another gateway may have the request wait for; 0: there is no limit.
func (s *sharedRequest) waitLeft() time.Duration {
	most := s.patience().MaxWait
	if most == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(most-s.last.Run.Slept, time.Millisecond)
}

// onHold notes and reports what another gateway tells of the try that it holds; nil: it holds it no longer. That
// gateway decides when it asks again. To the clients the wait is this one's.
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

// beginHeldWait notes a wait of another gateway.
func (s *sharedRequest) beginHeldWait(w policy.Wait, h *preamble.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold == nil {
		before := s.last
		s.before = &before
	}
	s.hold, s.last, s.slept = h, w, 0
	s.state, s.open = stateWaiting, true // the try is not silent
}

// endHold notes that another gateway no longer holds the try in progress.
func (s *sharedRequest) endHold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold != nil {
		s.hold, s.last, s.before, s.state = nil, *s.before, nil, stateTrying
	}
}

// isHeldAt reports whether another gateway, which is this upstream, holds the try in progress.
func (s *sharedRequest) isHeldAt(up *upstream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold != nil && s.at.upstream == up
}

// permits reports whether a secret is that of the call's preamble.
func (k *keepalive) permits(secret string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.secret != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(k.secret)) == 1
}

// permits reports whether a request waits whose preamble has a secret.
func (w *waitList) permits(id int64, secret string) bool {
	w.mu.Lock()
	c, ok := w.all[id]
	w.mu.Unlock()
	return ok && c.preamble != nil && c.keepalive.permits(secret)
}

// serveCommand executes the command of a client for its request, which waits.
func (g *Gateway) serveCommand(w http.ResponseWriter, r *http.Request, up *upstream) {
	number, secret, _ := strings.Cut(r.Header.Get(preamble.Call), "-")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || r.Header.Get(preamble.Command) != preamble.RetryNow || !g.waits.permits(id, secret) || !g.Act(id, RetryNow) {
		reply(w, up.api.errors, http.StatusNotFound, up.api.errors.ErrorBody(&fault.Error{Kind: fault.Invalid},
			"ridethrough: no request waits for this command"))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// announced returns the context of a request whose upstream is told of its caller, if that is a gateway. nil: it is
// none, as it has answered a request with that caller's header without that of a gateway.
func (s *sharedRequest) announced(ctx context.Context) (context.Context, *preamble.Caller) {
	if s.at.noGateway.Load() {
		return ctx, nil
	}
	caller := &preamble.Caller{Budget: s.waitLeft, OnEvent: s.onHold}
	return preamble.With(ctx, caller), caller
}

// noteGateway notes whether an upstream is a gateway, by its response.
func (u *upstream) noteGateway(resp *http.Response) {
	is, was := resp.Header[preamble.Call] != nil, !u.noGateway.Load()
	if is != was && (is || resp.StatusCode == http.StatusOK) {
		u.noGateway.Store(!is)
	}
}

// readMaxWait reads the longest wait that the client allows; false: it is answered with an error.
func (c *call) readMaxWait() bool {
	v := c.r.Header[preamble.MaxWait]
	if len(v) == 0 {
		return true
	}
	var err error
	if c.maxWait, err = time.ParseDuration(v[0]); err == nil && c.maxWait > 0 {
		return true
	}
	c.body.Release()
	c.reply(http.StatusBadRequest, c.dialect.ErrorBody(&fault.Error{Kind: fault.Invalid},
		"ridethrough: "+preamble.MaxWait+": "+clip.Text(v[0], idBound)+"; want a time above 0, such as 10m"))
	return false
}

// bounded reports whether the client allows less waiting than the policy.
func (s *sharedRequest) bounded() bool {
	own := s.failover.settings.policy.MaxWait
	return s.maxWait > 0 && (own == 0 || s.maxWait < own)
}
