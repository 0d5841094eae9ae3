package server

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/gate"
	"github.com/ridethrough/ridethrough/gateway"
)

// ofConversations begins the names of the upstreams of conversations: a provider
// may be one for requests as well, and what is known there is another thing.
const ofConversations = "conversations:"

// upstream is an upstream, as JSON.
type upstream struct {
	Name        string    `json:"name"`
	Source      string    `json:"source"`            // who asks it: "gateway", "conversations"
	Provider    string    `json:"provider,omitzero"` // of conversations: as their models name it
	API         string    `json:"api,omitzero"`
	Base        string    `json:"base,omitzero"`
	State       string    `json:"state"`                // "operational", "waiting", "recovering", "paused", "no-data"
	Paused      time.Time `json:"pausedSince,omitzero"` // left out: it is not paused
	Outages     []outage  `json:"outages"`
	Waiting     int       `json:"waiting"`              // requests that wait for it
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // left out: none since the start
	Actions     []string  `json:"actions"`              // what can be done about it
}

// outage is one that is under way, or over and letting its callers go, as JSON.
type outage struct {
	Level      string    `json:"level"`          // what fails: "host", "model", "credential"
	Model      string    `json:"model,omitzero"` // where it is one model that fails
	Since      time.Time `json:"since"`
	Kind       string    `json:"kind,omitzero"`
	Cause      string    `json:"cause,omitzero"` // the kind in plain words
	Message    string    `json:"message,omitzero"`
	Probes     int       `json:"probes"` // that have failed
	Probing    bool      `json:"probing"`
	Recovering bool      `json:"recovering"`         // it is over
	Waiting    int       `json:"waiting"`            // requests that wait for its end
	NextProbe  time.Time `json:"nextProbe,omitzero"` // left out: with the next request whose wait ends
	QuietUntil time.Time `json:"quietUntil,omitzero"`
	Remaining  int64     `json:"remainingMs"` // until nextProbe; 0: now, or it is not known
}

// key names the upstream among all.
func (v upstream) key() string { return v.Name }

// same tells whether nothing has changed but the time. That of the last
// success does not count: it changes with every request.
func (v upstream) same(o upstream) bool {
	return v.Name == o.Name && v.Source == o.Source && v.API == o.API && v.Base == o.Base && v.State == o.State &&
		v.Paused.Equal(o.Paused) && v.Waiting == o.Waiting && slices.EqualFunc(v.Outages, o.Outages, outage.same)
}

// same tells whether nothing has changed but the time.
func (v outage) same(o outage) bool {
	v.Remaining = o.Remaining
	return v == o
}

// What can be done about upstreams. A turn that is kept from trying would keep
// its worker from others, so nobody holds those of conversations.
var (
	allActions  = []string{string(gateway.Now), string(gateway.Hold), string(gateway.Resume), string(gateway.GiveUp)}
	talkActions = []string{string(gateway.Now), string(gateway.GiveUp)}
)

// loadUpstreams asks the gateway and the conversations about their upstreams.
func (s *Server) loadUpstreams() []upstream {
	now := time.Now()
	all := []upstream{}
	for _, h := range s.config.Gateway.Upstreams() {
		v := viewUpstream(h.Gate, now)
		v.Name, v.Source, v.API, v.Base, v.Actions = h.Name, "gateway", h.API, h.Base, allActions
		all = append(all, v)
	}
	if s.config.Sessions == nil {
		return all
	}
	for _, u := range s.config.Sessions.Upstreams() {
		u.Gate.Waiting = u.Waiting // where nobody holds a turn, no gate knows it
		v := viewUpstream(u.Gate, now)
		v.Name, v.Source, v.Provider, v.Actions = ofConversations+u.Gate.Name, "conversations", u.Gate.Name, talkActions
		all = append(all, v)
	}
	return all
}

func viewUpstream(g gate.State, now time.Time) upstream {
	v := upstream{
		State: state(g), Paused: instant(g.Paused),
		Outages: make([]outage, len(g.Outages)), Waiting: g.Waiting, LastSuccess: instant(g.LastSuccess),
	}
	for i := range g.Outages {
		v.Outages[i] = viewOutage(&g.Outages[i], now)
	}
	return v
}

func viewOutage(g *gate.Outage, now time.Time) outage {
	v := outage{
		Level: g.Level, Model: g.Scope.Model, Since: instant(g.Since), Probes: g.Probes, Probing: g.Probing,
		Recovering: g.Recovering, Waiting: g.Waiting, NextProbe: instant(g.Next), QuietUntil: instant(g.Until),
		Remaining: until(g.Next, now),
	}
	if f := g.Fault; f != nil {
		v.Kind, v.Cause, v.Message = f.Kind.String(), f.Cause(), f.Shown()
	}
	return v
}

// state gives an upstream's state in one word, the worst that holds.
func state(g gate.State) string {
	over := func(o gate.Outage) bool { return o.Recovering }
	switch {
	case !g.Paused.IsZero():
		return "paused"
	case slices.ContainsFunc(g.Outages, func(o gate.Outage) bool { return !over(o) }):
		return "waiting"
	case slices.ContainsFunc(g.Outages, over):
		return "recovering"
	case g.Waiting > 0: // too few have failed to call it an outage
		return "waiting"
	case g.LastSuccess.IsZero():
		return "no-data"
	}
	return "operational"
}
