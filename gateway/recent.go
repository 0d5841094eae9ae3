package gateway

import (
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/policy"
)

// How long a request that found no answer is remembered, since it was given up
// or sent again last, how long in all, and how many are. Agents that know no
// X-Should-Retry send it again until their own retries are used up (Claude Code
// eleven times, Codex thirty); all of these are to meet the same answer, and the
// short wait that is named is to bring them there soon. Measured with both.
const (
	rememberFor    = 75 * time.Second
	rememberAtMost = 15 * time.Minute
	maxRemembered  = 1024
	resendAfter    = "5" // seconds
)

// coalescer knows the requests under way and those that have just come to
// nothing, so that a request that is sent again is not taken for another: it
// joins the one under way, goes on with the budget of the one that its client
// has left, and is answered at once after one that has given up.
type coalescer struct {
	mu         sync.Mutex
	active     map[requestKey][]*sharedRequest
	unanswered []unanswered // the oldest first
}

// key is what a request and its re-send have in common at first sight.
// Their bodies are compared only where it agrees.
type requestKey struct {
	dialect *dialect.Dialect
	path    string // with the query and the upstream's name where it is in the path
	size    int
}

// unanswered is a request that found no answer.
type unanswered struct {
	requestKey
	at         time.Time
	until      time.Time // it is remembered
	sum        [32]byte
	credential string
	session    string
	model      string
	upstream   *upstream
	note       Note // its Verdict.Stop is "" where the client has left
}

// key gives the call's.
func (c *call) key() requestKey {
	return requestKey{c.dialect, c.r.RequestURI, c.body.Size()}
}

// isResend tells whether the client says that it has sent the request before.
func (c *call) isResend() bool {
	count := c.r.Header["X-Stainless-Retry-Count"]
	return len(count) > 0 && count[0] != "0"
}

// join gives the flight that answers a call: the one that it joins, or a new
// one that it leads.
func (fs *coalescer) join(c *call) (f *sharedRequest, lead bool) {
	like := c.key()
	if c.isResend() {
		for _, f := range fs.candidates(like) {
			if f.leader.credential == c.credential && f.body.Digest() == c.body.Digest() && f.join(c) {
				return f, false
			}
		}
	}
	f = c.newShared()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.active == nil {
		fs.active = make(map[requestKey][]*sharedRequest)
	}
	fs.active[like] = append(fs.active[like], f)
	return f, true
}

// candidates gives the flights that may be the same request.
func (fs *coalescer) candidates(l requestKey) []*sharedRequest {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Clone(fs.active[l])
}

// remove forgets a flight that has landed.
func (fs *coalescer) remove(f *sharedRequest) {
	like := f.leader.key()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	rest := slices.DeleteFunc(fs.active[like], func(other *sharedRequest) bool { return other == f })
	if len(rest) == 0 {
		delete(fs.active, like)
		return
	}
	fs.active[like] = rest
}

// remember keeps what became of a flight that found no answer.
func (fs *coalescer) remember(f *sharedRequest) {
	c := f.leader
	now := time.Now()
	p := unanswered{
		requestKey: c.key(), at: now, until: now.Add(rememberFor), sum: f.body.Digest(), credential: c.credential,
		session: c.info.Session, model: c.parsed.Model, upstream: c.upstream, note: f.note,
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.dropExpired(p.at)
	if len(fs.unanswered) == maxRemembered {
		fs.unanswered = slices.Delete(fs.unanswered, 0, 1)
	}
	fs.unanswered = append(fs.unanswered, p)
}

// dropExpired drops what is too old.
func (fs *coalescer) dropExpired(now time.Time) {
	fs.unanswered = slices.DeleteFunc(fs.unanswered, func(p unanswered) bool { return !p.until.After(now) })
}

// lookup gives what became of the same request a moment ago; nil: nothing is
// known. A session's next request counts as the same for a while.
func (fs *coalescer) lookup(c *call) *unanswered {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.unanswered) == 0 {
		return nil
	}
	now := time.Now()
	fs.dropExpired(now)
	for i := len(fs.unanswered) - 1; i >= 0; i-- {
		p := &fs.unanswered[i]
		same := p.same(c)
		if same && p.gaveUp() {
			p.until = earlier(now.Add(rememberFor), p.at.Add(rememberAtMost))
		}
		if same || p.nextOfSession(c, now) {
			found := *p
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

// gaveUp tells whether the request was given up; else its client has left.
func (u *unanswered) gaveUp() bool { return u.note.Verdict.Stop != "" }

// stillHolds tells whether what is remembered still says something about a call: it
// is of the same account, and its upstream has not answered anybody since.
func (u *unanswered) stillHolds(c *call) bool {
	return u.upstream.breaker == c.upstream.breaker && u.credential == c.credential &&
		!(u.gaveUp() && u.upstream.breaker.State().LastSuccess.After(u.at))
}

// same tells whether a call is what was remembered, sent again.
func (u *unanswered) same(c *call) bool {
	return u.requestKey == c.key() && u.stillHolds(c) && u.sum == c.body.Digest()
}

// nextOfSession tells whether a call is the next of a session whose last was given up.
func (u *unanswered) nextOfSession(c *call, now time.Time) bool {
	return u.session != "" && u.session == c.info.Session && u.model == c.parsed.Model &&
		u.gaveUp() && now.Before(u.at.Add(rememberFor)) && u.stillHolds(c)
}

// worthRemembering tells whether a re-send is to be met with what is known.
// Faults that are final are not: the provider may be asked about them anew.
func (s *sharedRequest) worthRemembering() bool {
	switch s.note.Verdict.Stop {
	case policy.Final, policy.Committed:
		return false
	case policy.GivenUp:
		return s.note.Fault != nil
	}
	return s.note.Fault != nil && s.note.Run.Tries > 1
}

// refuseResend answers a request that has just come to nothing, at once and plainly,
// so that agents do not begin another hold with each of their own retries.
func (c *call) refuseResend(p *unanswered) {
	c.body.Release()
	h := c.w.Header()
	h.Set(shouldRetryHeader, "false")
	h.Set("Retry-After", resendAfter)
	c.reply(statusOf(p.note.Fault), c.dialect.ErrorBody(p.note.Fault, "ridethrough: the same request has just been given up: "+p.note.Fault.Error()))
}
