package gateway

import (
	"net/http"
	"slices"
)

// join puts a call among those who wait for the outcome; false: it has landed.
func (s *sharedRequest) join(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || len(s.calls) == 0 {
		return false
	}
	if s.done == nil {
		s.done = make(chan struct{})
	}
	s.calls = append(s.calls, c)
	return true
}

// catchUp tells a call that has just joined what it has missed. A first try that
// is merely slow holds nobody.
func (s *sharedRequest) catchUp(c *call) {
	s.mu.Lock()
	failed, open := s.note.Fault != nil || s.state != Trying, s.open
	s.mu.Unlock()
	switch {
	case failed:
		s.waits.add(c, s)
		c.keepalive.waiting()
	case open:
		c.keepalive.opened()
	}
}

// leave takes a call out whose client has left. The last one ends the flight.
func (s *sharedRequest) leave(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
	s.waits.remove(c)
	if len(s.calls) == 0 {
		s.cancel(errLeft)
	}
}

// release ends a call's part in the flight. Where the lead has panicked, the others
// go on without it.
func (s *sharedRequest) release(c *call) {
	s.leave(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.leader == c && !s.finished:
		s.winner = c
		s.publish(nil, nil)
	case s.winner == c && s.resp != nil:
		_ = s.resp.Body.Close() // read to its end or not at all
	}
}

// finish publishes the outcome. The first client that is there takes it.
func (s *sharedRequest) finish(resp *http.Response, err error) {
	if s.worthRemembering() {
		s.coalescer.remember(s)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) > 0 {
		s.winner = s.calls[0]
	}
	if s.winner == nil && resp != nil {
		_ = resp.Body.Close() // nobody is left to read it
	}
	s.publish(resp, err)
}

// publish lets go of the body and wakes those who have joined. mu is held.
func (s *sharedRequest) publish(resp *http.Response, err error) {
	s.finished, s.resp, s.err = true, resp, err
	s.body.Release()
	s.coalescer.remove(s)
	if s.done != nil {
		close(s.done)
	}
}
