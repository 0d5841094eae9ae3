// Package history records how upstreams behave: measurements of the last day, incidents, and the latest requests. A breaker
// knows the current state of an upstream; an operator asks after an outage how long it was, and for whom.
//
// It receives the events of the gateway and of conversations. It is bounded, holds no content of requests,
// and outlives the process if it has a file. It decides nothing: no wait depends on it, but it keeps what package
// transport has learned of the upstreams, and for the next process what the gateway knows of requests that wait.
package history

import (
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

const (
	upstreamBound = 256
	incidentBound = 200
	modelBound    = 64    // models of one upstream
	callBound     = 65536 // waiting calls; further ones belong to no incident
)

// ConversationUpstream returns the name of a provider as an upstream of conversations only: the gateway has no
// upstream of that name, or one with another address.
func ConversationUpstream(provider string) string { return "conversations:" + provider }

// Provider returns the provider of an upstream that conversations ask.
func Provider(upstream string) string {
	return strings.TrimPrefix(upstream, ConversationUpstream(""))
}

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
	upstreams map[string]*upstream
	calls     map[callID]*call
	incidents []*incident // the oldest first
	learned   map[string]*transport.Learned

	waiting  waiting
	requests requests

	fleet  *fleet.Fleet          // nil: it is shared with none
	shared *fleet.Map[Elsewhere] // by the ids of incidents
}

type upstream struct {
	Day     day                  `json:"day,omitempty"`
	Last    time.Time            `json:"last,omitzero"`    // the last answer
	Answers map[string]time.Time `json:"answers,omitzero"` // the last of each model
	Kind    string               `json:"kind,omitzero"`    // of the last failure
	Runs    map[string]*run      `json:"runs,omitzero"`    // of continuing failures, by model
	latest  *incident
}

// Learned returns what was learned about an upstream of the gateway. The gateway may add to it.
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

type call struct {
	upstream, model string
	caller, client  string
	at              string      // the upstream after failover
	in              []*incident // those that made it wait
}

type try struct {
	retry.Try
	upstream, model string
	ended           time.Time
	streams         bool // it took until the first content, not until the whole answer
}

func (m *try) isUnsent() bool {
	dial, failed := errors.AsType[*net.OpError](m.Fault)
	return failed && dial.Op == "dial"
}

// Watch records an event of the gateway. It does not keep e, which is large.
func (h *History) Watch(e *gateway.Event) {
	id := callID{number: e.Call.ID}
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Try.N > 0 && !e.Try.Shared {
		h.tried(try{e.Try, e.Call.Upstream, e.Call.Model, e.At, e.Call.Stream})
	}
	if f := e.Try.Fault; e.Try.Shared && f != nil && f.Rule == breaker.SharedRule {
		h.heard(try{e.Try, e.Call.Upstream, e.Call.Model, e.At, false})
	}
	h.waiting.watch(e)
	h.dirty = h.requests.watch(id, e) || h.dirty
	switch event := e.Event.(type) {
	case turn.Retry:
		h.waits(id, call{upstream: e.Call.Upstream, model: e.Call.Model, caller: callerOf(&e.Call), client: e.Call.Client})
	case turn.Recovered:
		h.recovered(id, e.Call.Upstream, event.Retries, event.Waited, e.At)
	case turn.Switched:
		if c := h.calls[id]; c != nil {
			c.at = e.Call.Upstream
		}
	case turn.Sealed:
		h.lost(h.calls[id], id)
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
	id, name := callID{conversation: e.Call.Session, turn: e.Call.Turn}, e.Call.Upstream
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Try.N > 0 && !e.Try.Shared {
		m := try{e.Try, name, e.Call.Model, e.At, true}
		m.Fault = m.Fault.WithoutMessage()
		h.tried(m)
	}
	h.dirty = h.requests.watch(id, &e) || h.dirty
	switch event := e.Event.(type) {
	case turn.Retry:
		if f := event.Fault; f != nil && f.Code == turn.WorkerFailed {
			return // its upstream has not failed
		}
		h.waits(id, call{upstream: name, model: e.Call.Model, caller: e.Call.Session, client: "conversations"})
	case turn.Recovered:
		h.recovered(id, name, event.Retries, event.Waited, e.At)
	case turn.Sealed:
		switch {
		case !waited:
		case event.Status == turn.Done: // another model has answered
			h.recovered(id, name, event.RetryCount, event.TotalRetryDelay, e.At)
		default:
			h.lost(h.known(id, name), id)
		}
	}
}

// at returns an upstream, which it creates, or nil if there are too many.
func (h *History) at(name string) *upstream {
	u := h.upstreams[name]
	if u == nil && len(h.upstreams) < upstreamBound {
		u = &upstream{Runs: map[string]*run{}, Answers: map[string]time.Time{}}
		h.upstreams[name] = u
	}
	return u
}

func (h *History) tried(m try) {
	if m.Fault != nil && m.Fault.Kind == fault.Canceled {
		return // by its client
	}
	u := h.at(m.upstream)
	if u == nil {
		return
	}
	h.dirty = true
	h.rest(u, m.ended)
	switch {
	case m.Fault == nil:
		u.Last = m.ended
		u.Day.count(quarterOf(m.ended), func(q *quarter) {
			if q.OK++; m.streams {
				q.First.Add(m.Took, 1)
			}
		})
		u.answered(m)
	case upstreamFaults.Has(m.Fault.Kind):
		h.failed(u, m)
	}
}

// waits records a call that waits after a failed try.
func (h *History) waits(id callID, c call) {
	last := h.calls[id]
	switch {
	case last == nil && len(h.calls) >= callBound:
		return
	case last == nil:
		c.at = c.upstream
		last = &c
		h.calls[id] = last
	case len(last.in) == 0: // after a failover
		last.upstream, last.model = c.upstream, c.model
	}
	if u := h.upstreams[c.upstream]; u != nil && u.Runs[c.model] != nil && u.Runs[c.model].in != nil {
		u.Runs[c.model].in.suffers(last)
	}
}

// known returns a call that has waited. A call that waited in an earlier process belongs to the open incident of
// its upstream.
func (h *History) known(id callID, name string) *call {
	if c := h.calls[id]; c != nil {
		return c
	}
	c := &call{upstream: name}
	if u := h.upstreams[name]; u != nil && u.latest != nil && u.latest.isOpen() {
		c.in = []*incident{u.latest}
	}
	return c
}

// recovered counts a call that was answered after a wait, possibly by another upstream than the failed one.
func (h *History) recovered(id callID, name string, retries int, waited time.Duration, at time.Time) {
	c := h.known(id, name)
	delete(h.calls, id)
	h.dirty = true
	if u := h.at(c.upstream); u != nil {
		u.Day.count(quarterOf(at), func(q *quarter) {
			q.Calls++
			q.Retries += retries
			q.Waited += waited
		})
	}
	for _, in := range c.in {
		in.settle(&in.Held)
	}
}

// lost counts a call that waited and was not answered; nil: it did not wait.
func (h *History) lost(c *call, id callID) {
	if c == nil {
		return
	}
	delete(h.calls, id)
	h.dirty = true
	for _, in := range c.in {
		in.settle(&in.Lost)
	}
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
		all[len(all)-1-i] = in.view()
	}
	return all
}

// Names returns the names of all upstreams.
func (h *History) Names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.upstreams))
}
