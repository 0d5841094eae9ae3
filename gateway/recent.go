package gateway

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// How long a failed request is remembered after it was given up or sent again,
// how long in all, and how many are. Agents that ignore X-Should-Retry send a
// request again until their own retries are used up (Claude Code eleven times,
// Codex thirty). All of these get the same answer, and its short Retry-After
// brings them there soon. Measured with both.
const (
	rememberFor    = 75 * time.Second
	rememberAtMost = 15 * time.Minute
	maxRemembered  = 1024
	resendAfter    = "5" // seconds
)

// failedRequest is a request that found no answer.
type failedRequest struct {
	requestKey
	at         time.Time
	until      time.Time // it is remembered
	sum        [32]byte
	credential string
	session    string
	model      string
	upstream   *upstream
	last       policy.Wait // without a Stop if the client has left
}

// remember keeps the outcome of a shared request that found no answer.
func (co *coalescer) remember(s *sharedRequest) {
	c := s.leader
	now := time.Now()
	f := failedRequest{
		requestKey: c.key(), at: now, until: now.Add(rememberFor), sum: s.body.Digest(), credential: c.credential,
		session: c.info.Session, model: c.parsed.Model, upstream: c.upstream, last: s.last,
	}
	co.mu.Lock()
	defer co.mu.Unlock()
	co.dropExpired(now)
	if len(co.failed) == maxRemembered {
		co.failed = slices.Delete(co.failed, 0, 1)
	}
	co.failed = append(co.failed, f)
}

func (co *coalescer) dropExpired(now time.Time) {
	co.failed = slices.DeleteFunc(co.failed, func(f failedRequest) bool { return !f.until.After(now) })
}

// lookup returns the outcome of the same request a moment ago; nil: none is
// known. The next request of a session counts as the same for a while.
func (co *coalescer) lookup(c *call) *failedRequest {
	co.mu.Lock()
	defer co.mu.Unlock()
	if len(co.failed) == 0 {
		return nil
	}
	now := time.Now()
	co.dropExpired(now)
	for i := len(co.failed) - 1; i >= 0; i-- {
		f := &co.failed[i]
		same := f.same(c)
		if same && f.gaveUp() {
			f.until = earlier(now.Add(rememberFor), f.at.Add(rememberAtMost))
		}
		if same || f.precedes(c, now) {
			found := *f
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

// stillHolds reports whether the outcome still says something about a call: they
// have the same account, and the upstream has answered no request since.
func (f *failedRequest) stillHolds(c *call) bool {
	return f.upstream.breaker == c.upstream.breaker && f.credential == c.credential &&
		!(f.gaveUp() && f.upstream.breaker.State().LastSuccess.After(f.at))
}

// same reports whether a call is the request, sent again.
func (f *failedRequest) same(c *call) bool {
	return f.requestKey == c.key() && f.stillHolds(c) && f.sum == c.body.Digest()
}

// precedes reports whether a call is the next one of a session whose last request
// was given up.
func (f *failedRequest) precedes(c *call, now time.Time) bool {
	return f.session != "" && f.session == c.info.Session && f.model == c.parsed.Model &&
		f.gaveUp() && now.Before(f.at.Add(rememberFor)) && f.stillHolds(c)
}

// worthRemembering reports whether the outcome answers a re-send. A final fault
// does not: the provider may be asked again.
func (s *sharedRequest) worthRemembering() bool {
	switch s.last.Verdict.Stop {
	case policy.Final, policy.Committed:
		return false
	case policy.GivenUp:
		return s.last.Fault != nil
	}
	return s.last.Fault != nil && s.last.Run.Tries > 1
}

// refuseResend answers a request that has just failed, at once, so that agents do
// not start another keepalive with each of their own retries.
func (c *call) refuseResend(f *failedRequest) {
	c.body.Release()
	h := c.w.Header()
	h.Set(shouldRetryHeader, "false")
	h.Set("Retry-After", resendAfter)
	c.reply(statusOf(f.last.Fault), c.dialect.ErrorBody(f.last.Fault, "ridethrough: the same request has just been given up: "+f.last.Fault.Error()))
}
