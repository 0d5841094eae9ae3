package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/responses"
	"github.com/ridethrough/ridethrough/policy"
)

// coalescer holds the shared requests in progress and those that have just failed, so that a request sent
// again is recognised. It joins the one in progress, continues with the budget of the one that its client has
// left, and is answered at once after one that was given up.
type coalescer struct {
	mu     sync.Mutex
	active map[requestKey][]*sharedRequest
	failed []failedRequest // the oldest first
	kept   []*keptAnswer   // likewise
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

// enter returns the shared request that answers a call: the one that it joins, or a new one that it leads.
//
// A call joins if its client says that it is sent again, or if it is of the same session as one that waits after
// a fault: a client that has lost its connection comes back before the gateway knows.
func (co *coalescer) enter(c *call) (s *sharedRequest, leads bool) {
	key, resent := c.key(), c.isResend()
	if resent || key.session != "" || c.detaches() {
		for _, s := range co.candidates(key) {
			if (resent || key.session != "" && s.hasFailed() || s.isDetached()) && c.repeats(s.leader) && s.join(c) {
				return s, false
			}
		}
	}
	return co.lead(c), true
}

// lead returns a new shared request that a call leads.
func (co *coalescer) lead(c *call) *sharedRequest {
	s, key := c.newShared(), c.key()
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.active == nil {
		co.active = make(map[requestKey][]*sharedRequest)
	}
	co.active[key] = append(co.active[key], s)
	return s
}

// hasFailed reports whether a try has failed.
func (s *sharedRequest) hasFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Fault != nil
}

// candidates returns the shared requests in progress with a key.
func (co *coalescer) candidates(key requestKey) []*sharedRequest {
	co.mu.Lock()
	defer co.mu.Unlock()
	return slices.Clone(co.active[key])
}

// remove forgets a shared request that is finished.
func (co *coalescer) remove(s *sharedRequest) {
	key := s.leader.key()
	co.mu.Lock()
	defer co.mu.Unlock()
	rest := slices.DeleteFunc(co.active[key], func(other *sharedRequest) bool { return other == s })
	if len(rest) == 0 {
		delete(co.active, key)
		return
	}
	co.active[key] = rest
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
	}
}

// finish publishes the outcome. The first connected client is the winner, which takes the response.
func (s *sharedRequest) finish(resp *http.Response, err error) {
	if s.worthRemembering() {
		s.coalescer.remember(s)
	}
	if resp != nil && s.leader.detaches() {
		s.leader.meaning() // the body is released before the answer comes
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
	s.coalescer.remove(s)
	if s.done != nil {
		close(s.done)
	}
}

// How long a failed request is remembered after it was given up or sent again, the bounds of how long in all,
// which is otherwise as long as it was held, and how many are remembered. Agents that ignore X-Should-Retry send a request again until their own retries are used up (Claude
// Code eleven times, Codex thirty). All of these get the same answer, and its short Retry-After brings them
// there soon. Measured with both.
const (
	rememberFor     = 75 * time.Second
	rememberAtLeast = 5 * time.Second
	rememberAtMost  = 15 * time.Minute
	probeAfter      = 30 * time.Second // since the last try: a re-send is tried once more
	maxRemembered   = 1024
	resendAfter     = "5" // seconds
)

// failedRequest is a request that found no answer.
type failedRequest struct {
	requestKey
	at       time.Time
	until    time.Time // it is remembered
	latest   time.Time // end of that, however often it is sent again: no longer than its run was patient
	meaning  meaning
	upstream *upstream
	last     policy.Wait   // without a Stop if the client has left
	stayed   time.Duration // from its arrival
	silence  time.Duration // of the try that the client has left, until the request is sent again
	probes   bool          // the call that it was found for is to be tried once more
}

// remember keeps the outcome of a shared request that found no answer.
func (co *coalescer) remember(s *sharedRequest) {
	c := s.leader
	meaning := c.meaning()
	if meaning == nil {
		return
	}
	now := time.Now()
	f := failedRequest{
		requestKey: c.key(), at: now, until: now.Add(rememberFor), meaning: *meaning,
		upstream: c.upstream, last: s.last, stayed: now.Sub(c.arrived), silence: s.silence,
	}
	switch {
	case f.gaveUp():
		f.latest = now.Add(min(max(rememberAtLeast, f.stayed), rememberAtMost))
		f.until = earlier(f.until, f.latest)
	case s.at != s.failover.origin:
		f.last.Due, f.silence = time.Time{}, 0 // of a wait or a try at a fallback
	case f.last.Due.After(now):
		f.until = f.last.Due.Add(rememberFor)
	}
	co.mu.Lock()
	defer co.mu.Unlock()
	co.dropExpired(now)
	co.failed = slices.DeleteFunc(co.failed, f.replaces)
	if len(co.failed) == maxRemembered {
		co.failed = slices.Delete(co.failed, 0, 1)
	}
	co.failed = append(co.failed, f)
}

// replaces reports whether an earlier outcome is the same request's. Its last refusal stays as late as it was.
func (f *failedRequest) replaces(old failedRequest) bool {
	if old.requestKey != f.requestKey || old.meaning != f.meaning {
		return false
	}
	if f.gaveUp() && old.latest.After(f.latest) {
		f.latest = old.latest
		f.until = earlier(f.at.Add(rememberFor), f.latest)
	}
	return true
}

func (co *coalescer) dropExpired(now time.Time) {
	co.failed = slices.DeleteFunc(co.failed, func(f failedRequest) bool { return !f.until.After(now) })
}

// lookup returns the outcome of the same request a moment ago; nil: none is
// known. The next request of a session counts as the same for a while.
func (co *coalescer) lookup(c *call) *failedRequest {
	key := c.key()
	co.mu.Lock()
	defer co.mu.Unlock()
	if len(co.failed) == 0 {
		return nil
	}
	if slices.ContainsFunc(co.failed, func(f failedRequest) bool { return f.requestKey == key }) {
		co.mu.Unlock()
		c.meaning() // without the lock: the body may be large
		co.mu.Lock()
	}
	now := time.Now()
	co.dropExpired(now)
	for i := len(co.failed) - 1; i >= 0; i-- {
		f := &co.failed[i]
		same := f.requestKey == key && f.same(c)
		if same && f.gaveUp() {
			f.until = earlier(now.Add(rememberFor), f.latest)
		}
		f.probes = same && f.isProbeDue(now)
		if same || f.precedes(c, now) {
			found := *f
			f.silence = 0 // the call has it
			if f.probes {
				f.at = now
			}
			return &found
		}
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// gaveUp reports whether the request was given up; else its client has left.
func (f *failedRequest) gaveUp() bool { return f.last.Verdict.Stop != "" }

// isProbeDue reports whether the request, sent again, is to be tried once more: it may be the only one that could
// notice that the upstream is back. A silent upstream would hold it, and a command is the operator's.
func (f *failedRequest) isProbeDue(now time.Time) bool {
	stop := f.last.Verdict.Stop
	return (stop == policy.Exhausted || stop == policy.OverBudget) && f.last.Fault.Kind != fault.Timeout && now.Sub(f.at) >= probeAfter
}

// hasAnswered reports whether the upstream has answered a request since.
func (f *failedRequest) hasAnswered() bool { return f.upstream.breaker.State().LastSuccess.After(f.at) }

// stillHolds reports whether the outcome still says something about a call: they
// have the same account, and the upstream has answered no request since.
func (f *failedRequest) stillHolds(c *call) bool {
	return f.upstream.breaker == c.upstream.breaker && f.credential == c.credential &&
		!(f.gaveUp() && f.hasAnswered())
}

// same reports whether a call with the same key is the request, sent again.
func (f *failedRequest) same(c *call) bool {
	m := c.meaning()
	return m != nil && *m == f.meaning && f.stillHolds(c)
}

// precedes reports whether a call is the next one of a session whose last request was given up.
func (f *failedRequest) precedes(c *call, now time.Time) bool {
	return f.session != "" && f.session == c.info.Session && f.model == c.parsed.Model &&
		f.gaveUp() && now.Before(f.at.Add(rememberFor)) && f.stillHolds(c)
}

// worthRemembering reports whether the outcome answers a re-send. A final fault
// does not: the provider may be asked again.
func (s *sharedRequest) worthRemembering() bool {
	switch stop := s.last.Verdict.Stop; {
	case stop == policy.Final, stop == policy.Committed, stop == policy.OverBudget && s.bounded():
		return false
	case stop == policy.GivenUp:
		return s.last.Fault != nil
	}
	return s.silence >= commitAfter || s.last.Fault != nil && (s.last.Verdict.Stop == "" || s.last.Run.Tries > 1)
}

// refuseResend answers a request that has just failed, at once, so that agents do
// not start another keepalive with each of their own retries.
func (c *call) refuseResend(f *failedRequest) {
	c.body.Release()
	c.outcome = f.last
	c.w.Header().Set("Retry-After", resendAfter)
	c.replyFinal(f.last.Fault, "ridethrough: the same request has just been given up: "+f.last.Fault.Error())
}
