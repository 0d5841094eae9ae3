// Package history remembers how upstreams have done: what was measured in the
// last day, what was saved in the last week, and the incidents. A gate knows
// how an upstream is, and forgets; what an operator asks after an outage is how
// it was, how long, and for whom.
//
// It is told of what happens to the requests of a gateway and to the turns of
// conversations. What it keeps is bounded, holds nothing of what was said, and
// outlives the process where it is given a file. It decides nothing: nobody
// waits for longer or shorter because of it.
package history

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
)

// Bounds of what is kept.
const (
	upstreamBound = 256
	incidentBound = 200
	modelBound    = 64    // of one upstream, whose failures are told apart
	callBound     = 65536 // calls that wait; of more it is not known which incident they were in
)

// OfTurns names a provider as an upstream of conversations: requests may know
// it by the same name, and how they fare there is another thing.
func OfTurns(provider string) string { return "conversations:" + provider }

// troubles are the kinds of faults that are the upstream's. One that says that
// the request is wrong tells nothing about how the upstream is.
var troubles = fault.Transient.With(fault.Unknown, fault.Quota)

// History is what has been measured. Its methods may be called by many
// goroutines at the same time.
type History struct {
	path string
	log  *slog.Logger

	mu        sync.Mutex
	born      time.Time // when it began to measure
	started   time.Time // when this process did
	dirty     bool      // there is something that is not in the file
	upstreams map[string]*upstream
	calls     map[callID]*call
	incidents []*incident // the oldest first
}

// upstream is what is known of one upstream.
type upstream struct {
	Strip  strip           `json:"strip"`
	Saved  saved           `json:"saved"`
	Last   time.Time       `json:"last,omitzero"` // the last answer
	Kind   string          `json:"kind,omitzero"` // of the last failure
	Runs   map[string]*run `json:"runs,omitzero"` // of failures that go on, by model
	latest *incident
}

// callID names a request of the gateway by its number, or a turn.
type callID struct {
	number             int64
	conversation, turn string
}

// call is a request or a turn that waits for its answer.
type call struct {
	upstream, model string
	caller, client  string
	at              string    // the upstream that it has gone on to
	in              *incident // that it has suffered from; nil: none
}

// made is a try that was sent.
type made struct {
	upstream, model string
	began, ended    time.Time
	took            time.Duration // until the first content
	streams         bool          // so that this tells how fast it is
	fault           *fault.Error
}

// Watch is told of what happens at the gateway: it is for gateway.Config.
func (h *History) Watch(e gateway.Event) {
	id := callID{number: e.Call.ID}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e.Type {
	case gateway.Tried:
		if !e.Try.Shared {
			h.tried(made{e.Call.Upstream, e.Call.Model, e.Try.Start, e.At, e.Try.Took, e.Call.Stream, e.Try.Fault})
		}
	case gateway.Retrying:
		h.waits(id, call{upstream: e.Call.Upstream, model: e.Call.Model, caller: callerOf(e.Call), client: e.Call.Client})
	case gateway.Recovered:
		h.recovered(id, e.Call.Upstream, e.Wait.Retries(), e.Wait.Waited, e.At)
	case gateway.Switched:
		if c := h.calls[id]; c != nil {
			c.at = e.Call.Upstream
		}
	case gateway.GaveUp, gateway.Left, gateway.Ended:
		h.lost(h.calls[id], id, e.At)
	}
}

// callerOf names whoever makes a request: what belongs together is one.
func callerOf(c gateway.Call) string {
	switch {
	case c.Session != "":
		return c.Client + " " + c.Session
	case c.Client != "":
		return c.Client
	}
	return strconv.FormatInt(c.ID, 10)
}

// WatchTurns is told of what happens to turns: it is for conversation.Config.
func (h *History) WatchTurns(e conversation.Event) {
	id, name := callID{conversation: e.Conversation, turn: e.Turn}, OfTurns(e.Name.Provider)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e.Type {
	case conversation.Tried:
		h.tried(made{name, e.Name.Model, e.At.Add(-e.Took), e.At, e.Took, true, e.Fault})
	case conversation.Waiting:
		h.waits(id, call{upstream: name, model: e.Name.Model, caller: e.Conversation, client: "conversations"})
	case conversation.Recovered:
		h.recovered(id, name, e.Retries, e.Waited, e.At)
	case conversation.Lost:
		h.lost(h.known(id, name), id, e.At)
	}
}

// at returns what is known of an upstream, made if it is new; nil: there are too
// many.
func (h *History) at(name string) *upstream {
	u := h.upstreams[name]
	if u == nil && len(h.upstreams) < upstreamBound {
		u = &upstream{Runs: map[string]*run{}}
		h.upstreams[name] = u
	}
	return u
}

// tried counts a try that was sent.
func (h *History) tried(m made) {
	if m.fault != nil && !troubles.Has(m.fault.Kind) {
		return
	}
	u := h.at(m.upstream)
	if u == nil {
		return
	}
	h.dirty = true
	h.rest(u, m.ended)
	c := u.Strip.at(m.ended)
	if m.fault != nil {
		c.Failed++
		h.failed(u, m)
		return
	}
	c.OK++
	u.Last = m.ended
	if m.streams {
		c.First.add(m.took)
	}
	u.answered(m)
}

// waits notes a call that has failed and waits.
func (h *History) waits(id callID, c call) {
	last := h.calls[id]
	switch {
	case last == nil && len(h.calls) >= callBound:
		return
	case last == nil:
		c.at = c.upstream
		last = &c
		h.calls[id] = last
	case last.in == nil: // it has gone on elsewhere
		last.upstream, last.model = c.upstream, c.model
	}
	if u := h.upstreams[c.upstream]; u != nil && u.Runs[c.model] != nil && u.Runs[c.model].in != nil {
		u.Runs[c.model].in.suffers(last)
	}
}

// known returns a call that has waited, also where that was before this process
// was there.
func (h *History) known(id callID, name string) *call {
	if c := h.calls[id]; c != nil {
		return c
	}
	c := &call{upstream: name}
	if u := h.upstreams[name]; u != nil && u.latest != nil && u.latest.Open() {
		c.in = u.latest
	}
	return c
}

// recovered counts a call that was answered after all, perhaps by another
// upstream than the one that it has suffered from.
func (h *History) recovered(id callID, name string, retries int, waited time.Duration, at time.Time) {
	c := h.known(id, name)
	delete(h.calls, id)
	h.dirty = true
	if u := h.at(name); u != nil {
		u.Strip.at(at).Retried++
	}
	u := h.at(c.upstream)
	if u == nil {
		return
	}
	w := u.Saved.at(at)
	if c.in == nil {
		w.Blips++
		return
	}
	w.Calls++
	w.Retries += retries
	w.Waited += waited
	c.in.settle(&c.in.Held)
	if c.in.Held == 1 {
		w.Outages++
	}
}

// lost counts a call that has waited in vain; nil: it has not waited.
func (h *History) lost(c *call, id callID, at time.Time) {
	if c == nil {
		return
	}
	delete(h.calls, id)
	h.dirty = true
	if u := h.at(c.upstream); u != nil {
		u.Strip.at(at).Lost++
	}
	if c.in != nil {
		c.in.settle(&c.in.Lost)
	}
}

// Upstream returns what was measured of an upstream, the zero Measured where
// nothing was.
func (h *History) Upstream(name string, now time.Time) Measured {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.upstreams[name]
	if u == nil {
		return Measured{}
	}
	h.rest(u, now)
	m := u.Strip.measure(now)
	m.Saved = u.Saved.sum(now)
	m.Saved.Since = min(now.Sub(h.born), week)
	m.Failing = u.failing()
	m.Last, m.Kind = u.Last, kindOf(u.Kind, 0)
	return m
}

// failing reports whether the last tries of a model have failed. One alone says
// that only where nothing else is known.
func (u *upstream) failing() bool {
	for _, r := range u.Runs {
		if r.N > 1 || u.Last.IsZero() {
			return true
		}
	}
	return false
}

// Incidents returns the latest incidents, those that began last first.
func (h *History) Incidents(now time.Time) []Incident {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.upstreams {
		h.rest(u, now)
	}
	all := make([]Incident, len(h.incidents))
	for i, in := range h.incidents {
		all[len(all)-1-i] = in.show()
	}
	return all
}

// Names lists the upstreams of which something is known.
func (h *History) Names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.upstreams))
}
