package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/responses"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// party are the clients of a shared request, and what they get.
type party struct {
	calls    []member       // whose clients are connected; the leader first, if it is
	first    [1]member      // of calls, as most requests have no other
	alone    bool           // no other call joins
	undetach func()         // ends the time for which the request runs detached; nil: it does not
	done     chan struct{}  // closed when it is finished; nil: no call has joined
	finished bool           // there is no other try
	winner   *call          // takes the response; nil: none, or it is not finished
	resp     *http.Response // the outcome; nil: there is none
	err      error
}

// member is a call that a shared request is for.
type member struct {
	*call
	waits bool // for its answer after a fault, or to be let go
}

// enter returns the shared request that answers a call: the one that it joins, or a new one that it leads.
//
// A call joins if its client says that it is sent again, or if it is of the same session as one that waits after
// a fault: a client that has lost its connection comes back before the gateway knows.
func (c *call) enter() (s *sharedRequest, leads bool) {
	resent := c.isResend()
	if resent || c.info.Session != "" || c.detaches() {
		for _, e := range c.gateway.outcomes.runningFor(c) {
			if s := e.running; s.joinable(resent) && c.repeats(&s.leader.intake) && s.join(c) {
				return s, false
			}
		}
	}
	return c.newShared(), true
}

// joinable reports whether a call that is the same request joins.
func (s *sharedRequest) joinable(resent bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.finished && !s.alone && (resent || s.leader.info.Session != "" && s.last.Fault != nil || len(s.calls) == 0)
}

// join adds a call to those that wait for the outcome; false: it is finished.
func (s *sharedRequest) join(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || len(s.calls) == 0 && s.undetach == nil {
		return false
	}
	if s.done == nil {
		s.done = make(chan struct{})
	}
	s.add(c)
	return true
}

// catchUp brings the keepalive of a call that has just joined up to date. A first
// try that is merely slow starts none.
func (s *sharedRequest) catchUp(c *call) {
	s.mu.Lock()
	waits, open := s.last.Fault != nil || s.state != stateTrying, s.open
	if waits {
		s.setWaits(c, true)
	}
	s.mu.Unlock()
	if e, ok := s.ongoing(); ok {
		c.keepalive.tell(e)
	}
	switch {
	case open:
		c.keepalive.answerBegan()
	case waits:
		c.keepalive.waiting()
	}
}

// leave removes a call whose client has disconnected. The last one ends the shared request, unless its answer is
// to be kept.
func (s *sharedRequest) leave(c *call) {
	if s.removeLast(c) {
		c.emit(Event{Detached: true})
	}
}

// removeLast removes a call. It reports whether the request continues detached.
func (s *sharedRequest) removeLast(c *call) (detached bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.calls)
	s.remove(c)
	if before == 0 || len(s.calls) > 0 {
		return false
	}
	detached = !errors.Is(context.Cause(c.r.Context()), responses.ErrCanceled) && s.detach()
	if !detached {
		s.cancel(errLeft)
	}
	return detached
}

// remove removes a call. mu is held.
func (s *sharedRequest) remove(c *call) {
	s.calls = slices.DeleteFunc(s.calls, func(m member) bool { return m.call == c })
}

// release ends a call's part in the shared request. After a panic of the leader the others continue without it.
func (s *sharedRequest) release(c *call) {
	s.mu.Lock()
	goesOn := s.leader != c && !s.finished
	s.mu.Unlock()
	if goesOn {
		s.leave(c) // it may go on without any client
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
	if s.leader == c && !s.finished {
		s.winner = c
		s.publish(nil, nil)
	}
	if s.winner == c {
		s.rooms.Used(&s.room, s.used)
		s.noteCache()
		s.countUse()
		s.rooms.Close(&s.room)
	}
	if s.winner == c && s.resp != nil {
		_ = s.resp.Body.Close() // read to its end or not at all
		s.resp = nil
	}
	if s.winner == c || len(s.calls) == 0 && s.undetach == nil {
		s.stopDetached()
		s.cancel(errLeft)
		s.outcomes.drop(&s.entry)
	}
}

// finish publishes the outcome. The first connected client is the winner, which takes the response.
func (s *sharedRequest) finish(resp *http.Response, err error) {
	var left *failedRequest
	if s.worthRemembering() {
		left = s.remember()
	}
	if s.setup.fleet != nil && s.leader.inFleet.key != "" {
		s.tellEnd(left)
	}
	if resp != nil && s.leader.detaches() {
		s.leader.meaning() // the body is released before the answer comes
		if f := s.setup.fleet; f != nil && f.Answers != nil && !s.leader.isIdentified() {
			s.leader.identify()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if resp != nil && context.Cause(s.ctx) == errForgotten { // which has ended its body too
		_ = resp.Body.Close()
		resp, err = nil, errForgotten
	}
	switch {
	case len(s.calls) > 0:
		s.winner = s.calls[0].call
	case s.undetach != nil:
		s.winner = s.leader
	}
	if s.winner == nil && resp != nil {
		_ = resp.Body.Close() // no client is left to read it
	}
	if s.winner == nil {
		s.rooms.Close(&s.room)
	}
	s.publish(resp, err)
}

// endUnanswered ends the request, unless it has an outcome.
func (s *sharedRequest) endUnanswered(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.cancel(why)
	}
}

// publish releases the body, unless its call may ask again, and wakes the calls that have joined. mu is held.
func (s *sharedRequest) publish(resp *http.Response, err error) {
	s.finished, s.resp, s.err = true, resp, err
	s.endPlace()
	if s.winner != s.leader || resp == nil {
		s.body.Release()
	}
	if s.done != nil {
		close(s.done)
	}
}

// takeBack adds a client to a request whose clients may all have left.
func (s *sharedRequest) takeBack(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(c)
}

// forget removes a client without whom the request ends.
func (s *sharedRequest) forget(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
}

// add adds a client. mu is held.
func (s *sharedRequest) add(c *call) {
	s.calls = append(s.calls, member{call: c})
	s.stopDetached()
}

// detach keeps the request running for a time after its last client has left; false: it ends. mu is held.
func (s *sharedRequest) detach() bool {
	answers := s.finished && s.resp != nil && s.last.Verdict.Stop == ""
	tries := s.setup.detached.Tries && !s.finished && s.state == stateTrying
	if !answers && !tries || s.draining.Err() != nil || !s.leader.detaches() {
		return false
	}
	expired := time.AfterFunc(s.setup.detached.Time, func() { s.cancel(errLeft) })
	drained := context.AfterFunc(s.draining, func() { s.cancel(errClosing) })
	s.stopDetached()
	s.undetach = func() { expired.Stop(); drained() }
	return true
}

// stopDetached ends the time for which the request runs detached. mu is held.
func (s *sharedRequest) stopDetached() {
	if s.undetach != nil {
		s.undetach()
		s.undetach = nil
	}
}

// isDetached reports whether the request runs on though its clients have left.
func (s *sharedRequest) isDetached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) == 0
}

// goesOn reports whether the call takes an answer although its client has left.
func (c *call) goesOn() bool {
	s := c.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.winner == c && s.resp != nil && s.last.Verdict.Stop == "" && c.detaches()
}

// connected returns the calls whose clients are connected.
func (s *sharedRequest) connected() []member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// opened notes that an answer has begun without content so far.
func (s *sharedRequest) opened() {
	s.mu.Lock()
	s.open = true
	s.mu.Unlock()
	for _, c := range s.connected() {
		c.keepalive.answerBegan()
	}
}

// callsWaiting notes that all connected calls wait, and returns them.
func (s *sharedRequest) callsWaiting() []member {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.calls {
		s.calls[i].waits = true
	}
	return slices.Clone(s.calls)
}

// countUse counts what the answer has cost.
func (s *sharedRequest) countUse() {
	if t := s.leader.tenant; t != nil && s.used != (ratelimit.Charged{}) {
		t.Used(s.used)
	}
}

// setWaits notes whether a call waits. mu is held.
func (s *sharedRequest) setWaits(c *call, waits bool) {
	for i := range s.calls {
		if s.calls[i].call == c {
			s.calls[i].waits = waits
		}
	}
}

// waitsNoMore notes that a call gets its answer.
func (s *sharedRequest) waitsNoMore(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setWaits(c, false)
}
