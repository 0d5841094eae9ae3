package ratelimit

import (
	"net/http"
	"strconv"
	"time"
)

// learnedName is the name of a limit that no answer has stated.
const learnedName = "requests-learned"

// The rules of a limit that is learned from refusals: it is somewhat below what was sent in the minute before, grows
// while nothing is refused, and is forgotten. A provider that is short of capacity refuses as well.
const (
	leastLearned   = 10               // requests a minute
	belowRefused   = 0.9              // of what was sent in the minute before
	growth         = 0.1              // a minute
	oneRefusal     = 10 * time.Second // refusals within it are one
	forgottenAfter = 10 * time.Minute
	longestRefusal = time.Minute // one that is to last longer is about another limit
)

// minute counts what happens in a minute.
type minute struct {
	counts [2]float64 // in the minute before, and in this one
	began  time.Time
}

func (m *minute) add(now time.Time) {
	switch age := now.Sub(m.began); {
	case age >= 2*time.Minute:
		m.counts, m.began = [2]float64{}, now
	case age >= time.Minute:
		m.counts, m.began = [2]float64{m.counts[1], 0}, m.began.Add(time.Minute)
	}
	m.counts[1]++
}

// last returns how much has happened in the last minute, about.
func (m *minute) last(now time.Time) float64 {
	age := now.Sub(m.began).Minutes()
	switch {
	case age >= 2:
		return 0
	case age >= 1:
		return m.counts[1] * (2 - age)
	}
	return m.counts[1] + m.counts[0]*(1-age)
}

// learn learns the limit of requests of a provider that states none, from its refusals.
func (t *Table) learn(c *Call, status int, h http.Header) {
	refuses := status == http.StatusTooManyRequests
	if !refuses && c.entry == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	e := t.entry(c.Key)
	e.land(c)
	switch after, _ := strconv.ParseFloat(h.Get("Retry-After"), 64); {
	case c.Adaptive && !e.paces: // that is Tried's
	case refuses && after > longestRefusal.Seconds():
	case refuses:
		if l := t.links[e.key.Upstream]; e.learnLimit(now) && l != nil {
			l.Tell([]News{{Key: e.key, Refused: true}})
		}
		t.dispatch(e, now)
	case e.refused && status < http.StatusBadRequest:
		e.growLimit(now)
		t.dispatch(e, now)
	}
}

// learnLimit lowers the learned limit after a refusal, and reports whether it has. Nothing is learned where another
// is stated.
func (e *entry) learnLimit(now time.Time) bool {
	if e.paces && !e.refused {
		return false
	}
	n := e.went.last(now) * belowRefused
	if n < leastLearned && !e.refused {
		return false // so few requests show no limit
	}
	k := &e.limits[e.place(learnedName)]
	known := e.refused && now.Sub(k.refusedAt) < oneRefusal
	switch {
	case known:
		n = k.limit // it was in flight with that one
	case e.refused:
		n = min(n, k.limit*belowRefused)
	}
	k.refusedAt, e.refused = now, true
	e.setLearned(k, max(n, leastLearned), 0, now)
	return !known
}

// growLimit raises the learned limit, or forgets it.
func (e *entry) growLimit(now time.Time) {
	k := &e.limits[e.place(learnedName)]
	if now.Sub(k.refusedAt) > forgottenAfter {
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
