package ratelimit

import (
	"cmp"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// learnedName is the name of a limit that no answer has stated.
const learnedName = "requests-learned"

// The rules of a limit that is learned from refusals: it is somewhat below what was accepted in the minute before two
// of them, grows while nothing is refused, and is forgotten. A provider that is short of capacity refuses as well.
const (
	leastLearned    = 10               // requests a minute
	belowRefused    = 0.9              // of what was accepted in the minute before
	agreement       = 1.25             // by at most this factor do two refusals differ that are of one limit
	growth          = 0.1              // a minute
	oneRefusal      = 10 * time.Second // refusals within it are one
	forgottenAfter  = 10 * time.Minute
	shortestRefusal = 10 * time.Second // one that is to last shorter says itself when there is room
	longestRefusal  = time.Minute      // one that is to last longer is about another limit
)

// refusal is a refusal that may be of a limit a minute.
type refusal struct {
	limit float64       // which it shows
	wait  time.Duration // for which it has asked; 0: it has not
	at    time.Time
}

// minute counts what happens in a minute.
type minute struct {
	counts [2]float64 // in the minute before, and in this one
	began  time.Time
	since  time.Time // nothing is known of what was before
}

func (m *minute) add(now time.Time) {
	switch age := now.Sub(m.began); {
	case age >= 2*time.Minute:
		m.counts, m.began, m.since = [2]float64{}, now, now
	case age >= time.Minute:
		m.counts, m.began = [2]float64{m.counts[1], 0}, m.began.Add(time.Minute)
	}
	m.counts[1]++
}

// take takes back what has been added a moment ago.
func (m *minute) take() { m.counts[1] = max(0, m.counts[1]-1) }

// last returns how much has happened in the last minute, about; false: it is not known for all of it.
func (m *minute) last(now time.Time) (n float64, known bool) {
	age := now.Sub(m.began).Minutes()
	switch {
	case age >= 2:
		return 0, false
	case age >= 1:
		n = m.counts[1] * (2 - age)
	default:
		n = m.counts[1] + m.counts[0]*(1-age)
	}
	return n, now.Sub(m.since) >= time.Minute
}

// answered notes the answer to a call that states no limits.
func (t *Table) answered(c *Call, status int) {
	if c.entry == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now, e := t.now(), c.entry
	e.land(c)
	if e.refused && status < http.StatusBadRequest {
		e.growLimit(now)
		t.dispatch(e, now)
	}
}

// Failed notes that a try has failed. From a refusal the limit of requests is learned of a provider that states none.
// One for too many at once shows no rate, and neither does a conflict with another request (409, 423, 400, 422).
func (t *Table) Failed(c *Call, f *fault.Error) {
	inStream := f.Status == http.StatusOK
	if f.Kind != fault.RateLimited || f.AtOnce || f.Status != http.StatusTooManyRequests && !inStream {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	e := t.entry(c.Key)
	e.went.take()
	wait := f.RetryAfter(now)
	if wait > longestRefusal || 0 < wait && wait < shortestRefusal {
		return
	}
	if c.entry == nil || c.roomy || !e.refused {
		if l := t.links[e.key.Upstream]; e.learnLimit(wait, now) && l != nil {
			l.put(e.key, news{Refused: true}, now)
		}
	}
	t.dispatch(e, now)
}

// learnLimit learns from a refusal, and reports whether the others are to know of it. Nothing is learned where another
// limit is stated, and none is believed before two refusals agree.
func (e *entry) learnLimit(wait time.Duration, now time.Time) bool {
	n, known := e.went.last(now)
	if n *= belowRefused; !known || e.paces && !e.refused || n < leastLearned && !e.refused {
		return false // so few requests show no limit
	}
	before, learned := e.refusal, e.refused
	if now.Sub(before.at) < oneRefusal { // it was in flight with that one
		if learned {
			k := &e.limits[e.place(learnedName)]
			e.setLearned(k, k.limit, 0, now)
		}
		return false
	}
	e.refusal = refusal{n, wait, now}
	switch {
	case learned:
		n = min(n, e.limits[e.place(learnedName)].limit*belowRefused)
	case now.Sub(before.at) > forgottenAfter || max(n, before.limit) > agreement*min(n, before.limit):
		return true
	}
	e.refused = true
	e.setLearned(&e.limits[e.place(learnedName)], max(n, leastLearned), 0, now)
	return true
}

// longest returns for how long a call waits for the learned limit at most: to be refused would cost no more.
func (r refusal) longest() time.Duration { return cmp.Or(r.wait, longestRefusal) }

// overdue reports whether the call has waited for a learned limit for that long.
func (e *entry) overdue(c *Call, now time.Time) bool {
	return e.refused && now.Sub(c.queued) >= e.refusal.longest()
}

// growLimit raises the learned limit, or forgets it.
func (e *entry) growLimit(now time.Time) {
	k := &e.limits[e.place(learnedName)]
	if now.Sub(e.refusal.at) > forgottenAfter {
		*k, e.refused = known{Limit: Limit{Name: learnedName, Unit: Requests, Seen: k.Seen}}, false
		e.review()
		return
	}
	e.setLearned(k, k.limit*(1+growth*now.Sub(k.Seen).Minutes()), k.leftAt(now), now)
}

// setLearned sets the learned limit, and what is left of it.
func (e *entry) setLearned(k *known, limit, left float64, now time.Time) {
	k.Limit = Limit{
		Name: learnedName, Unit: Requests, Window: time.Minute, Limit: limit, Remaining: left, Used: 1 - left/limit, Seen: now,
	}
	k.limit, k.rate, k.left, k.at = limit, limit/60, left, now
	e.review()
}
