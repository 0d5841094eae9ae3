// Package history records how upstreams behave: measurements of the last day,
// totals of the last week, and incidents. A breaker knows the current state of an
// upstream; an operator asks after an outage how long it was, and for whom.
//
// It receives the events of the gateway and of conversations. It is bounded, holds no content of requests,
// and outlives the process if it has a file. It decides nothing: no wait depends on it, but it keeps what package
// transport has learned of the upstreams.
package history

import (
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// Bounds of the history.
const (
	upstreamBound = 256
	incidentBound = 200
	modelBound    = 64    // models of one upstream
	callBound     = 65536 // waiting calls; further ones belong to no incident
)

// ConversationUpstream returns the name of a provider as an upstream of conversations, which is
// separate from an upstream of the gateway with the same name.
func ConversationUpstream(provider string) string { return "conversations:" + provider }

// upstreamFaults are the kinds of faults that the upstream causes, unlike those of an invalid request.
var upstreamFaults = fault.Transient.With(fault.Unknown, fault.Quota)

// History has the measurements and incidents of all upstreams. Its methods may be called concurrently.
type History struct {
	path string
	log  *slog.Logger

	mu        sync.Mutex
	born      time.Time // the start of the first process
	started   time.Time // the start of this process
	dirty     bool      // changed since the file was written
	summed    bool      // it is a Sum
	saved     time.Time // when it was saved, by the clock of its gateway; zero: unknown
	joined    []string  // the gateways of a fleet whose histories were added
	upstreams map[string]*upstream
	calls     map[callID]*call
	incidents []*incident // the oldest first
	learned   map[string]*transport.Learned

	unanswered unanswered
	requests   requests
}

// upstream has the measurements of one upstream.
type upstream struct {
	Strip   strip                `json:"strip"` // the last day
	Hour    strip                `json:"hour"`
	Saved   saved                `json:"saved"`
	Last    time.Time            `json:"last,omitzero"`    // the last answer
	Answers map[string]time.Time `json:"answers,omitzero"` // the last of each model
	Kind    string               `json:"kind,omitzero"`    // of the last failure
	Runs    map[string]*run      `json:"runs,omitzero"`    // of continuing failures, by model
	latest  *incident
}

// Learned returns what has been learned of an upstream of the gateway. The gateway may add to it.
func (h *History) Learned(name string) *transport.Learned {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.learned[name]
	if l == nil {
		l = new(transport.Learned)
	}
	if len(h.learned) < upstreamBound {
		h.learned[name] = l
	}
	return l
}

// callID identifies a request of the gateway by its number, or a turn.
type callID struct {
	number             int64
	conversation, turn string
}

// call is a request or a turn that waits for its answer.
type call struct {
	upstream, model string
	caller, client  string
	at              string    // the upstream after failover
	in              *incident // the incident that made it wait; nil: none
}

// try is a try that was sent.
type try struct {
	upstream, model string
	began, ended    time.Time
	arrived         time.Time     // the request; zero: a turn's try, of which there may be many
	took            time.Duration // until the first content
	unsent          bool          // no connection could be made
	streams         bool          // took is the time of the first content, not of the whole answer
	fault           *fault.Error
}

// newTry returns a try that has ended at a moment.
func newTry(upstream, model string, at time.Time, t retry.Try, streams bool) try {
	m := try{upstream: upstream, model: model, began: t.Start, ended: at, took: t.Took, streams: streams, fault: t.Fault}
	if m.fault != nil {
		dial, failed := errors.AsType[*net.OpError](m.fault)
		m.unsent = failed && dial.Op == "dial"
	}
	return m
}

// Watch records an event of the gateway. It does not keep e, which is large.
func (h *History) Watch(e *gateway.Event) {
	id := callID{number: e.Call.ID}
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Try.N > 0 && !e.Try.Shared {
		m := newTry(e.Call.Upstream, e.Call.Model, e.At, e.Try, e.Call.Stream)
		m.arrived = e.Call.Began
		h.tried(m)
	}
	if f := e.Try.Fault; e.Try.Shared && f != nil && f.Rule == breaker.SharedRule {
		h.heard(e.Call.Upstream, newTry(e.Call.Upstream, e.Call.Model, e.At, e.Try, false))
	}
	h.unanswered.watch(e)
	h.requests.watch(id, e)
	switch event := e.Event.(type) {
	case turn.Start:
		h.arrived(e.Call.Upstream, e.At)
	case turn.Retry:
		h.waits(id, call{upstream: e.Call.Upstream, model: e.Call.Model, caller: callerOf(&e.Call), client: e.Call.Client}, e.At)
	case turn.Recovered:
		h.recovered(id, e.Call.Upstream, event.Retries, event.Waited, e.At)
	case turn.Switched:
		if c := h.calls[id]; c != nil {
			c.at = e.Call.Upstream
		}
	case turn.Sealed:
		h.lost(h.calls[id], id, e.At)
	}
}

// callerOf identifies the caller of a request by its session, client or number.
func callerOf(c *gateway.Call) string {
	switch {
	case c.Session != "":
		return c.Client + " " + c.Session
	case c.Client != "":
		return c.Client
	}
	return strconv.FormatInt(c.ID, 10)
}

// WatchTurn records an event of a turn. waited, with turn.Sealed: the turn waited for its provider, which has not
// answered since.
func (h *History) WatchTurn(e gateway.Event, waited bool) {
	id, name := callID{conversation: e.Call.Session, turn: e.Call.Turn}, ConversationUpstream(e.Call.Upstream)
	e.Call.Upstream = name
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Try.N > 0 && !e.Try.Shared {
		m := newTry(name, e.Call.Model, e.At, e.Try, true)
		m.fault = m.fault.WithoutMessage()
		h.tried(m)
	}
	h.requests.watch(id, &e)
	switch event := e.Event.(type) {
	case turn.Start:
		h.arrived(name, e.At)
	case turn.Retry:
		if f := event.Fault; f != nil && f.Code == turn.WorkerFailed {
			return // its upstream has not failed
		}
		h.waits(id, call{upstream: name, model: e.Call.Model, caller: e.Call.Session, client: "conversations"}, e.At)
	case turn.Recovered:
		h.recovered(id, name, event.Retries, event.Waited, e.At)
	case turn.Sealed:
		switch {
		case !waited:
		case event.Status == turn.Done: // another model has answered
			h.recovered(id, name, event.RetryCount, event.TotalRetryDelay, e.At)
		default:
			h.lost(h.known(id, name), id, e.At)
		}
	}
}

// at returns an upstream, created if it is new, or nil if there are too many.
func (h *History) at(name string) *upstream {
	u := h.upstreams[name]
	if u == nil && len(h.upstreams) < upstreamBound {
		u = &upstream{Runs: map[string]*run{}, Answers: map[string]time.Time{}}
		h.upstreams[name] = u
	}
	return u
}

// count counts something in both strips.
func (u *upstream) count(t time.Time, add func(*period)) {
	add(u.Strip.at(t, byQuarter()))
	add(u.Hour.at(t, byMinute()))
}

// arrived counts a request, or a turn that begins.
func (h *History) arrived(name string, at time.Time) {
	if u := h.at(name); u != nil {
		h.dirty = true
		u.count(at, func(p *period) { p.Requests++ })
	}
}

// tried counts a try that was sent.
func (h *History) tried(m try) {
	if m.fault != nil && m.fault.Kind == fault.Canceled {
		return // by its client
	}
	u := h.at(m.upstream)
	if u == nil {
		return
	}
	h.dirty = true
	h.rest(u, m.ended)
	if m.fault == nil {
		u.Last = m.ended
		u.count(m.ended, m.passed)
		u.answered(m)
		return
	}
	kind, isIts := nameOf(m.fault), upstreamFaults.Has(m.fault.Kind)
	u.count(m.ended, func(p *period) {
		p.fails(kind)
		if isIts {
			p.Failed++
		}
	})
	if isIts {
		h.failed(u, m)
	}
}

// passed counts a try that was answered.
func (m try) passed(p *period) {
	p.OK++
	if m.streams {
		p.First.Add(m.took, 1)
	}
	if !m.arrived.IsZero() {
		p.Added.Add(m.began.Sub(m.arrived), 1)
	}
}

// waits records a call that waits after a failed try.
func (h *History) waits(id callID, c call, at time.Time) {
	last := h.calls[id]
	switch {
	case last == nil && len(h.calls) >= callBound:
		return
	case last == nil:
		c.at = c.upstream
		last = &c
		h.calls[id] = last
	case last.in == nil: // after a failover
		last.upstream, last.model = c.upstream, c.model
	}
	if u := h.upstreams[c.upstream]; u != nil && u.Runs[c.model] != nil && u.Runs[c.model].in != nil {
		u.Runs[c.model].in.suffers(last, at)
	}
}

// known returns a call that has waited. A call that waited in an earlier process
// belongs to the open incident of its upstream.
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

// recovered counts a call that was answered after a wait, possibly by another
// upstream than the one that failed.
func (h *History) recovered(id callID, name string, retries int, waited time.Duration, at time.Time) {
	c := h.known(id, name)
	delete(h.calls, id)
	h.dirty = true
	if u := h.at(name); u != nil {
		u.count(at, func(p *period) {
			p.Retried++
			p.Retries += retries
			p.Waited += waited
		})
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
	c.in.settle(&c.in.Held, at)
	if c.in.Held == 1 {
		w.Outages++
	}
}

// lost counts a call that waited and was not answered; nil: it did not wait.
func (h *History) lost(c *call, id callID, at time.Time) {
	if c == nil {
		return
	}
	delete(h.calls, id)
	h.dirty = true
	if u := h.at(c.upstream); u != nil {
		u.count(at, func(p *period) { p.Lost++ })
	}
	if c.in != nil {
		c.in.settle(&c.in.Lost, at)
	}
}

// Upstream returns the measurements of an upstream, zero if there are none.
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
	if h.summed { // each part has counted its incidents, of which several may be one
		m.Saved.Outages = h.heldThrough(name, now.Add(-week))
	}
	m.Last, m.Kind = u.Last, kindOf(u.Kind, 0)
	return m
}

// Incidents returns the latest incidents, the newest first.
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

// Names returns the names of all upstreams.
func (h *History) Names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.upstreams))
}
