package gateway

import (
	"context"
	"errors"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/responses"
)

// coalescer holds the shared requests in progress and those that have just failed, so that a request sent
// again is recognised. It joins the one in progress, continues with the budget of the one that its client has
// left, and is answered at once after one that was given up.
type coalescer struct {
	mu     sync.Mutex
	active map[uint64]*sharedRequest // by the digest of their keys: the youngest, which leads to the others
	failed []failedRequest           // the oldest first
	kept   []*keptAnswer             // likewise
}

// requestKey is what a request and its re-send have in common at first sight. Their bodies are compared only if
// it is equal: the happy path reads no body for that.
type requestKey struct {
	dialect    *dialect.Dialect
	path       string // with the query, and with the upstream's name if the path has it
	credential string
	session    string
	model      string
	tenant     string
}

// key returns the call's.
func (c *call) key() requestKey {
	return requestKey{c.dialect, c.r.RequestURI, c.credential, c.info.Session, c.parsed.Model, c.tenantName()}
}

// isResend reports whether the client says that it has sent the request before.
func (c *call) isResend() bool {
	if count := c.r.Header["X-Stainless-Retry-Count"]; len(count) > 0 {
		return count[0] != "0"
	}
	try := c.r.Header.Get("Amz-Sdk-Request") // of the AWS SDKs, such as "attempt=2; max=3"
	return strings.HasPrefix(try, "attempt=") && !strings.HasPrefix(try, "attempt=1;")
}

// repeats reports whether a call is the same request as another one that may still be read. See [meaning].
func (c *call) repeats(other *call) bool {
	a, b := c.meaning(), other.meaning()
	return a != nil && b != nil && *a == *b
}

// keyDigest returns the digest of the key.
func (c *call) keyDigest() uint64 { return maphash.Comparable(c.gateway.seed[0], c.key()) }

// enter returns the shared request that answers a call: the one that it joins, or a new one that it leads.
//
// A call joins if its client says that it is sent again, or if it is of the same session as one that waits after
// a fault: a client that has lost its connection comes back before the gateway knows.
//
//go:noinline its frame would be on the stack of every request that waits
func (co *coalescer) enter(c *call) (s *sharedRequest, leads bool) {
	key, resent := c.key(), c.isResend()
	if resent || key.session != "" || c.detaches() {
		for _, s := range co.candidates(c.keyDigest()) {
			if s.leader.key() == key && s.joinable(resent) && c.repeats(s.leader) && s.join(c) {
				return s, false
			}
		}
	}
	return c.newShared(), true
}

// begin adds a shared request to those in progress, which Close ends.
func (co *coalescer) begin(s *sharedRequest) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.active == nil {
		co.active = make(map[uint64]*sharedRequest)
	}
	if s.older = co.active[s.digest]; s.older != nil {
		s.older.younger = s
	}
	co.active[s.digest] = s
	if s.closing.Err() != nil {
		s.cancel(errClosing)
	}
}

// joinable reports whether a call that is the same request joins.
func (s *sharedRequest) joinable(resent bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.finished && !s.alone && (resent || s.leader.info.Session != "" && s.last.Fault != nil || len(s.calls) == 0)
}

// candidates returns the shared requests in progress of a digest, the oldest first.
func (co *coalescer) candidates(digest uint64) (all []*sharedRequest) {
	co.mu.Lock()
	defer co.mu.Unlock()
	for s := co.active[digest]; s != nil; s = s.older {
		all = append(all, s)
	}
	slices.Reverse(all)
	return all
}

// inProgress returns all shared requests whose answers are not over. mu is held.
func (co *coalescer) inProgress() (all []*sharedRequest) {
	for _, s := range co.active {
		for ; s != nil; s = s.older {
			all = append(all, s)
		}
	}
	return all
}

// end forgets a shared request whose answer is over.
func (co *coalescer) end(s *sharedRequest) {
	co.mu.Lock()
	defer co.mu.Unlock()
	switch {
	case s.younger != nil:
		s.younger.older = s.older
	case co.active[s.digest] != s:
		return // it has been forgotten
	case s.older != nil:
		co.active[s.digest] = s.older
	default:
		delete(co.active, s.digest)
	}
	if s.older != nil {
		s.older.younger = s.younger
	}
	s.older, s.younger = nil, nil
}

// close ends all shared requests.
func (co *coalescer) close() {
	co.mu.Lock()
	all := co.inProgress()
	co.mu.Unlock()
	for _, s := range all {
		s.cancel(errClosing)
	}
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
	s.mu.Unlock()
	if waits {
		s.waits.add(c, s)
	}
	if e, ok := s.ongoing(); ok {
		c.keepalive.tell(e)
	}
	if waits || open {
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
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
	s.waits.remove(c)
}

// release ends a call's part in the shared request. After a panic of the leader the others go on without it.
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
		s.headroom.Used(&s.room, s.used)
		s.noteCache()
		s.countUse()
		s.headroom.Close(&s.room)
	}
	if s.winner == c && s.resp != nil {
		_ = s.resp.Body.Close() // read to its end or not at all
		s.resp = nil
	}
	if s.winner == c || len(s.calls) == 0 && s.undetach == nil {
		s.stopDetached()
		s.cancel(errLeft)
		s.coalescer.end(s)
	}
}

// finish publishes the outcome. The first connected client is the winner, which takes the response.
func (s *sharedRequest) finish(resp *http.Response, err error) {
	if s.worthRemembering() {
		s.tellEnd(s.coalescer.remember(s))
	} else {
		s.tellEnd(nil)
	}
	if resp != nil && s.leader.detaches() {
		s.leader.meaning() // the body is released before the answer comes
		if f := s.setup.fleet; f != nil && f.Answers != nil && !s.leader.isIdentified() {
			s.leader.identify()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.calls) > 0:
		s.winner = s.calls[0]
	case s.undetach != nil:
		s.winner = s.leader
	}
	if s.winner == nil && resp != nil {
		_ = resp.Body.Close() // no client is left to read it
	}
	if s.winner == nil {
		s.headroom.Close(&s.room)
	}
	s.publish(resp, err)
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
