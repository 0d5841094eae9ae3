package gateway

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// How long a failed request is remembered after it was given up or sent again, the bounds of how long in all,
// which is otherwise as long as it was held, and how many are remembered. Agents that ignore X-Should-Retry send a
// request again until their own retries are used up (Claude Code eleven times, Codex thirty). All of these get the
// same answer, and its short Retry-After brings them there soon. Measured with both.
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
	fleetKey string        // identifies it in the fleet; "": it is not known there
	probes   bool          // the call that it was found for is to be tried once more
}

// remember keeps the outcome of a shared request that found no answer, and returns it; nil: the request cannot be
// known again.
func (co *coalescer) remember(s *sharedRequest) *failedRequest {
	meaning, now := s.leader.meaning(), time.Now()
	if meaning == nil {
		return nil
	}
	f := s.outcomeAt(now)
	f.meaning, f.fleetKey = *meaning, s.leader.keyInFleet
	co.add(f, now)
	return &f
}

// outcomeAt returns the request so far as one that has found no answer, without its meaning.
func (s *sharedRequest) outcomeAt(now time.Time) failedRequest {
	c := s.leader
	f := failedRequest{
		requestKey: c.key(), at: now, until: now.Add(rememberFor),
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
	return f
}

// add keeps a request that found no answer, in place of the same one before.
func (co *coalescer) add(f failedRequest, now time.Time) {
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
