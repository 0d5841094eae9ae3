package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// measureTime is how long what was measured is shown as it is: with every
// request that passes it changes a little.
const measureTime = 5 * time.Second

// measures are what was measured of upstreams, as it is shown.
type measures struct {
	mu  sync.Mutex
	all map[string]measure // by the upstream's name
}

// measure is what was measured of one, and when it was asked for.
type measure struct {
	at time.Time
	history.Measured
	strip []cell
}

// measured gives what was measured of an upstream.
func (s *Server) measured(name string, now time.Time) measure {
	if s.config.History == nil {
		return measure{}
	}
	s.measures.mu.Lock()
	defer s.measures.mu.Unlock()
	m, known := s.measures.all[name]
	if known && now.Sub(m.at) < measureTime {
		return m
	}
	m = measure{at: now, Measured: s.config.History.Upstream(name, now)}
	m.strip = make([]cell, history.Cells)
	for i, c := range m.Strip {
		m.strip[i] = cell{c.OK, c.Failed, c.Retried, c.Lost, c.First.Milliseconds()}
	}
	if s.measures.all == nil {
		s.measures.all = map[string]measure{}
	}
	s.measures.all[name] = m
	return m
}

// cell is a quarter of an hour, as JSON. Nothing in it: nothing was asked.
type cell struct {
	OK         int   `json:"ok,omitzero"`           // tries that were answered
	Failed     int   `json:"failed,omitzero"`       // tries that failed
	Retried    int   `json:"retried,omitzero"`      // requests that were answered after others of their tries had failed
	Lost       int   `json:"lost,omitzero"`         // requests that have waited and had no answer
	FirstToken int64 `json:"firstTokenMs,omitzero"` // the median
}

// saving is what holding has done in a week, as JSON.
type saving struct {
	Calls   int   `json:"calls"`   // requests that an incident has failed and that were answered all the same
	Outages int   `json:"outages"` // those incidents
	Waited  int64 `json:"waitedMs"`
	Retries int   `json:"retries"`
	Blips   int   `json:"blips"`   // requests that were answered after failures that were no incident
	Since   int64 `json:"sinceMs"` // how long is looked back
}

// crowd is who waits for an upstream.
type crowd struct {
	n     int
	due   time.Time // the first of their tries; zero: one is under way, or none is known
	cause string    // of the wait of one of them
}

// crowds gives who waits, by the name of the upstream.
func (s *Server) crowds() map[string]crowd {
	all := map[string]crowd{}
	add := func(name string, due time.Time, cause string) {
		c := all[name]
		if c.n++; c.n == 1 || due.Before(c.due) {
			c.due = due
		}
		c.cause = cmp.Or(c.cause, cause)
		all[name] = c
	}
	for _, v := range s.waits.latest() {
		add(v.Upstream, v.Due, v.Cause)
	}
	for _, v := range s.turns.latest() {
		add(v.Upstream, v.Due, v.Cause)
	}
	return all
}

// complete adds who waits and what was measured to what the gate knows.
func (v *upstream) complete(g breaker.State, c crowd, m measure, now time.Time) {
	v.Waiting = max(v.Waiting, c.n)
	if v.LastSuccess.IsZero() {
		v.LastSuccess = instant(m.Last)
	}
	v.State = stateOf(v, g, m.Measured)
	if v.State == "waiting" || v.State == "down" {
		v.Until = v.next(c)
		v.UntilMs = until(v.Until, now)
	}
	v.Slow, v.Samples, v.Strip = m.Slow, m.Samples, m.strip
	v.FirstToken, v.FirstTokenBefore = m.First.Milliseconds(), m.Before.Milliseconds()
	if m.strip != nil {
		v.Saved = &saving{m.Saved.Calls, m.Saved.Outages, m.Saved.Waited.Milliseconds(), m.Saved.Retries, m.Saved.Blips, m.Saved.Since.Milliseconds()}
	}
	v.Reason = v.reason(c, m.Measured)
}

// next gives when the upstream is tried next; zero: it is being tried, or that
// is not known.
func (v *upstream) next(c crowd) time.Time {
	var first time.Time
	for _, o := range v.Outages {
		if !o.NextProbe.IsZero() && (first.IsZero() || o.NextProbe.Before(first)) {
			first = o.NextProbe
		}
	}
	if first.IsZero() {
		return c.due
	}
	return first
}

// stateOf gives an upstream's state in one word, the worst that holds.
func stateOf(v *upstream, g breaker.State, m history.Measured) string {
	over := func(o breaker.Outage) bool { return o.Recovering }
	fails := slices.ContainsFunc(g.Outages, func(o breaker.Outage) bool { return !over(o) })
	recovers := slices.ContainsFunc(g.Outages, over)
	switch {
	case !g.Paused.IsZero():
		return "paused"
	case v.Waiting > 0 && (fails || !recovers): // too few may have failed to call it an outage
		return "waiting"
	case fails:
		return "down"
	case recovers:
		return "recovering"
	case m.Failing:
		return "down"
	case m.Slow:
		return "slow"
	case v.LastSuccess.IsZero():
		return "no-data"
	}
	return "operational"
}

// reason says why an upstream is in its state, in a sentence.
func (v *upstream) reason(c crowd, m history.Measured) string {
	cause := c.cause
	for _, o := range v.Outages {
		cause = cmp.Or(o.Cause, cause)
	}
	cause = cmp.Or(cause, m.Kind.Cause())
	who := "request"
	if v.Provider != "" {
		who = "turn"
	}
	switch v.State {
	case "paused":
		return "Paused: nothing is sent until somebody resumes it."
	case "waiting":
		return capital(cause) + ": " + count(v.Waiting, who) + " waiting."
	case "down":
		return capital(cause) + " when it was asked last, and nobody waits for it."
	case "recovering":
		return "It answers again. Who waited goes out one after the other: " + count(v.Waiting, who) + " left."
	case "slow":
		return "The first token takes " + seconds(m.First) + "; in the day before it took " + seconds(m.Before) + "."
	case "no-data":
		return "Nothing has been asked of it."
	}
	if m.Samples == 0 {
		return "It has answered when it was asked last."
	}
	return "It answers: " + count(m.Samples, "answer") + " in the last hour."
}

// count writes how many there are of something.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
