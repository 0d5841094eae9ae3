package gateway

import (
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// How long a request that found no answer is remembered, since it was given up
// or sent again last, how long in all, and how many are. Agents that know no
// X-Should-Retry send it again until their own retries are used up (Claude Code
// eleven times, Codex thirty); all of these are to meet the same answer, and the
// short wait that is named is to bring them there soon. Measured with both.
const (
	memory       = 75 * time.Second
	memoryAtMost = 15 * time.Minute
	memories     = 1024
	soon         = "5" // seconds
)

// flights knows the requests under way and those that have just come to
// nothing, so that a request that is sent again is not taken for another: it
// joins the one under way, goes on with the budget of the one that its client
// has left, and is answered at once after one that has given up.
type flights struct {
	mu     sync.Mutex
	active map[likeness][]*flight
	past   []past // the oldest first
}

// likeness is what a request and its re-send have in common at first sight.
// Their bodies are compared only where it agrees.
type likeness struct {
	dialect *dialect.Dialect
	path    string // with the query and the upstream's name where it is in the path
	size    int
}

// past is a request that found no answer.
type past struct {
	likeness
	at         time.Time
	until      time.Time // it is remembered
	sum        [32]byte
	credential string
	session    string
	model      string
	upstream   *upstream
	note       retry.Note // its Verdict.Stop is "" where the client has left
}

// likeness gives the call's.
func (c *call) likeness() likeness {
	return likeness{c.dialect, c.r.RequestURI, c.body.size}
}

// resent tells whether the client says that it has sent the request before.
func (c *call) resent() bool {
	count := c.r.Header["X-Stainless-Retry-Count"]
	return len(count) > 0 && count[0] != "0"
}

// enter gives the flight that answers a call: the one that it joins, or a new
// one that it leads.
func (fs *flights) enter(c *call) (f *flight, lead bool) {
	like := c.likeness()
	if c.resent() {
		for _, f := range fs.like(like) {
			if f.lead.secret == c.secret && f.body.identity() == c.body.identity() && f.join(c) {
				return f, false
			}
		}
	}
	f = c.takeOff()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.active == nil {
		fs.active = make(map[likeness][]*flight)
	}
	fs.active[like] = append(fs.active[like], f)
	return f, true
}

// like gives the flights that may be the same request.
func (fs *flights) like(l likeness) []*flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Clone(fs.active[l])
}

// remove forgets a flight that has landed.
func (fs *flights) remove(f *flight) {
	like := f.lead.likeness()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	rest := slices.DeleteFunc(fs.active[like], func(other *flight) bool { return other == f })
	if len(rest) == 0 {
		delete(fs.active, like)
		return
	}
	fs.active[like] = rest
}

// remember keeps what became of a flight that found no answer.
func (fs *flights) remember(f *flight) {
	c := f.lead
	now := time.Now()
	p := past{
		likeness: c.likeness(), at: now, until: now.Add(memory), sum: f.body.identity(), credential: c.secret,
		session: c.who.Session, model: c.asked.Model, upstream: c.upstream, note: f.note,
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.forget(p.at)
	if len(fs.past) == memories {
		fs.past = slices.Delete(fs.past, 0, 1)
	}
	fs.past = append(fs.past, p)
}

// forget drops what is too old.
func (fs *flights) forget(now time.Time) {
	fs.past = slices.DeleteFunc(fs.past, func(p past) bool { return !p.until.After(now) })
}

// recall gives what became of the same request a moment ago; nil: nothing is
// known. A session's next request counts as the same for a while.
func (fs *flights) recall(c *call) *past {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.past) == 0 {
		return nil
	}
	now := time.Now()
	fs.forget(now)
	for i := len(fs.past) - 1; i >= 0; i-- {
		p := &fs.past[i]
		same := p.same(c)
		if same && p.failed() {
			p.until = earlier(now.Add(memory), p.at.Add(memoryAtMost))
		}
		if same || p.next(c, now) {
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

// failed tells whether the request was given up; else its client has left.
func (p *past) failed() bool { return p.note.Verdict.Stop != "" }

// valid tells whether what is remembered still says something about a call: it
// is of the same account, and its upstream has not answered anybody since.
func (p *past) valid(c *call) bool {
	return p.upstream.gate == c.upstream.gate && p.credential == c.secret &&
		!(p.failed() && p.upstream.gate.LastSuccess().After(p.at))
}

// same tells whether a call is what was remembered, sent again.
func (p *past) same(c *call) bool {
	return p.likeness == c.likeness() && p.valid(c) && p.sum == c.body.identity()
}

// next tells whether a call is the next of a session whose last was given up.
func (p *past) next(c *call, now time.Time) bool {
	return p.session != "" && p.session == c.who.Session && p.model == c.asked.Model &&
		p.failed() && now.Before(p.at.Add(memory)) && p.valid(c)
}

// worthRemembering tells whether a re-send is to be met with what is known.
// Faults that are final are not: the provider may be asked about them anew.
func (f *flight) worthRemembering() bool {
	switch f.note.Verdict.Stop {
	case policy.Final, policy.Committed:
		return false
	case givenUp:
		return f.note.Fault != nil
	}
	return f.note.Fault != nil && f.note.Run.Tries > 1
}

// again answers a request that has just come to nothing, at once and plainly,
// so that agents do not begin another hold with each of their own retries.
func (c *call) again(p *past) {
	c.body.release()
	h := c.w.Header()
	h.Set(shouldRetry, "false")
	h.Set("Retry-After", soon)
	c.reply(statusOf(p.note.Fault), c.dialect.ErrorBody(p.note.Fault, "ridethrough: the same request has just been given up: "+p.note.Fault.Error()))
}
