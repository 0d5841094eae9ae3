package server

import (
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// upstream is an upstream, as JSON.
type upstream struct {
	Name        string    `json:"name"`
	Source      string    `json:"source"`            // who asks it: "gateway", "conversations"
	Provider    string    `json:"provider,omitzero"` // of conversations: as their models name it
	API         string    `json:"api,omitzero"`
	Base        string    `json:"base,omitzero"`
	State       string    `json:"state"`                // "operational", "slow", "waiting", "down", "recovering", "paused", "no-data"
	Reason      string    `json:"reason"`               // the same in a sentence
	Until       time.Time `json:"until,omitzero"`       // it is tried next; left out: now, or it is not known
	UntilMs     int64     `json:"untilMs,omitzero"`     // until then
	Paused      time.Time `json:"pausedSince,omitzero"` // left out: it is not paused
	Outages     []outage  `json:"outages"`
	Waiting     int       `json:"waiting"`              // requests, or turns, that wait for it
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // left out: none is known of
	Actions     []string  `json:"actions"`              // what can be done about it

	Slow             bool    `json:"slow,omitzero"`
	Samples          int     `json:"samples"`                     // answers of the last hour
	FirstToken       int64   `json:"firstTokenMs,omitzero"`       // the median of the last half hour
	FirstTokenBefore int64   `json:"firstTokenBeforeMs,omitzero"` // the same of the day before
	Strip            []cell  `json:"strip,omitzero"`              // the last day
	Saved            *saving `json:"saved,omitzero"`
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
	return v.Name == o.Name && v.Source == o.Source && v.API == o.API && v.Base == o.Base && v.State == o.State && v.Reason == o.Reason &&
		v.Until.Equal(o.Until) && v.Paused.Equal(o.Paused) && v.Waiting == o.Waiting && v.Samples == o.Samples &&
		v.FirstToken == o.FirstToken && v.FirstTokenBefore == o.FirstTokenBefore &&
		slices.EqualFunc(v.Outages, o.Outages, outage.same) && slices.Equal(v.Strip, o.Strip)
}

// same tells whether nothing has changed but the time.
func (v outage) same(o outage) bool {
	v.Remaining = o.Remaining
	return v == o
}

// What can be done about upstreams. A turn that is kept from trying would keep
// its worker from others, so nobody holds those of conversations.
var (
	allActions  = []string{string(gateway.RetryNow), string(gateway.Pause), string(gateway.Resume), string(gateway.GiveUp)}
	talkActions = []string{string(gateway.RetryNow), string(gateway.GiveUp)}
)

// loadUpstreams asks the gateway and the conversations about their upstreams.
func (s *Server) loadUpstreams() []upstream {
	now, waiting := time.Now(), s.crowds()
	all := []upstream{}
	add := func(v upstream, g breaker.State) {
		v.Paused, v.LastSuccess, v.Waiting = instant(g.Paused), instant(g.LastSuccess), max(v.Waiting, g.Waiting)
		v.Outages = make([]outage, len(g.Outages))
		for i := range g.Outages {
			v.Outages[i] = viewOutage(&g.Outages[i], now)
		}
		v.complete(g, waiting[v.Name], s.measured(v.Name, now), now)
		all = append(all, v)
	}
	for _, h := range s.config.Gateway.Upstreams() {
		add(upstream{Name: h.Name, Source: "gateway", API: h.API, Base: h.Base, Actions: allActions}, h.Breaker)
	}
	for _, u := range s.providers() {
		add(upstream{
			Name: history.OfTurns(u.Breaker.Name), Source: "conversations", Provider: u.Breaker.Name, Waiting: u.Waiting, Actions: talkActions,
		}, u.Breaker)
	}
	return all
}

// providers lists the upstreams of conversations: those of this process, and
// those that were asked before it was there.
func (s *Server) providers() []conversation.Upstream {
	if s.config.Conversations == nil {
		return nil
	}
	all := s.config.Conversations.Upstreams()
	if s.config.History == nil {
		return all
	}
	for _, name := range s.config.History.Names() {
		provider, ok := strings.CutPrefix(name, history.OfTurns(""))
		if ok && !slices.ContainsFunc(all, func(u conversation.Upstream) bool { return u.Breaker.Name == provider }) {
			all = append(all, conversation.Upstream{Breaker: breaker.State{Name: provider}})
		}
	}
	return all
}

func viewOutage(g *breaker.Outage, now time.Time) outage {
	v := outage{
		Level: g.Level, Model: g.Scope.Model, Since: instant(g.Since), Probes: g.Probes, Probing: g.Probing,
		Recovering: g.Recovering, Waiting: g.Waiting, NextProbe: instant(g.Next), QuietUntil: instant(g.Until),
		Remaining: until(g.Next, now),
	}
	if f := g.Fault; f != nil {
		v.Kind, v.Cause, v.Message = f.Kind.String(), f.Label(), f.Redacted()
	}
	return v
}
