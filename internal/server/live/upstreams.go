package live

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/transport"
)

type upstream struct {
	Name        string    `json:"name"`
	Source      string    `json:"source"`            // whose it is: "gateway", or "conversations" only
	Provider    string    `json:"provider,omitzero"` // where conversations ask it: as in the names of models
	API         string    `json:"api,omitzero"`
	Base        string    `json:"base,omitzero"`
	State       string    `json:"state"`                // "operational", "slow", "degraded", "waiting", "down", "recovering", "paused", "no-data"
	Reason      string    `json:"reason"`               // the same in a sentence
	Until       time.Time `json:"until,omitzero"`       // of the next try; left out: now, or unknown
	UntilMs     int64     `json:"untilMs,omitzero"`     // until then
	Paused      time.Time `json:"pausedSince,omitzero"` // left out: it is not
	Failing     []string  `json:"failing,omitzero"`     // models whose last tries have failed
	Outages     []outage  `json:"outages"`
	Waiting     int       `json:"waiting"`              // requests and turns that wait for it
	Turns       int       `json:"turns,omitzero"`       // of these, turns of conversations
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // left out: none known
	Vendor      vendor    `json:"vendor,omitzero"`      // left out: nothing fails, or no status page is read
	Actions     []string  `json:"actions"`              // that it takes

	FirstByte          []firstByte `json:"firstByte,omitzero"`          // limits that are learned, the longest first; left out: none is known
	Limits             []limit     `json:"limits,omitzero"`             // that it states, the most used first; left out: it states none
	Samples            int         `json:"samples"`                     // answers in the last hour
	FirstTokenMs       int64       `json:"firstTokenMs,omitzero"`       // the median of the last half hour
	FirstTokenBeforeMs int64       `json:"firstTokenBeforeMs,omitzero"` // the median of the day before
	Saved              *saving     `json:"saved,omitzero"`              // left out: nothing is measured
}

// vendor is the provider's status page while the upstream fails, beside our measurements, as JSON.
type vendor struct {
	Says     string    `json:"says"`
	Fine     bool      `json:"fine"` // it knows of no problem
	ReadAt   time.Time `json:"readAt"`
	Tries    int       `json:"tries"`    // requests that were sent in the incident
	Failures int       `json:"failures"` // of these
}

// firstByte is the learned limit on the first byte of a model's answers, as JSON. Larger requests have longer
// limits: this is the longest.
type firstByte struct {
	Model   string `json:"model"`
	LimitMs int64  `json:"limitMs"`
}

// outage is an outage in progress, or one that is over while its waits end, as JSON.
type outage struct {
	Name        string    `json:"name"`           // by which waits name it
	Level       string    `json:"level"`          // of the failure: "host", "model", "credential"
	Model       string    `json:"model,omitzero"` // of an outage of one model
	Since       time.Time `json:"since"`
	Kind        string    `json:"kind,omitzero"`
	Cause       string    `json:"cause,omitzero"` // the kind in plain words
	Message     string    `json:"message,omitzero"`
	Probes      int       `json:"probes"` // that failed
	Probing     bool      `json:"probing"`
	Recovering  bool      `json:"recovering"`         // it is over, and its waits end
	Waiting     int       `json:"waiting"`            // requests that wait for its end
	NextProbe   time.Time `json:"nextProbe,omitzero"` // left out: when the next wait ends
	QuietUntil  time.Time `json:"quietUntil,omitzero"`
	RemainingMs int64     `json:"remainingMs"` // until nextProbe; 0: now, or unknown

	window bool // a usage window is spent: its waits end when it opens, whatever probes before that find
}

func (v *upstream) key() key { return key{text: v.Name} }

// same reports whether nothing has changed but the time. It ignores the time of the last success: every request
// changes it.
func (v *upstream) same(other item) bool {
	o := other.(*upstream)
	return v.Name == o.Name && v.Source == o.Source && v.API == o.API && v.Base == o.Base && v.State == o.State && v.Reason == o.Reason &&
		v.Until.Equal(o.Until) && v.Paused.Equal(o.Paused) && v.Waiting == o.Waiting && v.Turns == o.Turns && v.Provider == o.Provider && v.Vendor == o.Vendor && v.Samples == o.Samples &&
		v.FirstTokenMs == o.FirstTokenMs && slices.Equal(v.Failing, o.Failing) && v.FirstTokenBeforeMs == o.FirstTokenBeforeMs &&
		slices.EqualFunc(v.Outages, o.Outages, outage.same) &&
		slices.Equal(v.FirstByte, o.FirstByte) && slices.EqualFunc(v.Limits, o.Limits, limit.same)
}

func (v outage) same(o outage) bool {
	v.RemainingMs = o.RemainingMs
	return v == o
}

// The actions on upstreams. Upstreams of conversations only cannot be paused.
var (
	callActions = []string{string(gateway.RetryNow), string(gateway.Pause), string(gateway.Resume), string(gateway.GiveUp)}
	turnActions = []string{string(gateway.RetryNow), string(gateway.GiveUp)}
)

func (l *Live) loadUpstreams() []upstream {
	now, waits, measured := time.Now(), l.waitsByUpstream(), l.History
	vendors := l.vendors(now)
	all := []upstream{}
	add := func(v upstream, g breaker.State) {
		v.Paused, v.LastSuccess, v.Waiting = api.Time(g.Paused), api.Time(g.LastSuccess), g.Waiting
		h := measured.Health(v.Name, g, now)
		v.Vendor = vendors[v.Name]
		v.Failing, v.Outages = h.Failing, make([]outage, len(h.Outages))
		for i := range h.Outages {
			v.Outages[i] = viewOutage(&h.Outages[i], now)
		}
		v.complete(h.Condition, waits[v.Name], l.measurementOf(v.Name, now), now)
		all = append(all, v)
	}
	turns := l.turnUpstreams()
	for _, h := range l.Gateway.Upstreams() {
		v := upstream{
			Name: h.Name, Source: "gateway", API: h.API, Base: h.Base, Actions: callActions,
			FirstByte: viewLearned(h.Learned), Limits: viewLimits(h.Limits, now),
		}
		if u, asked := turns[h.Name]; asked {
			v.Provider, v.Turns = history.Provider(h.Name), u.waiting
			delete(turns, h.Name)
		}
		add(v, h.Breaker)
	}
	for _, name := range slices.Sorted(maps.Keys(turns)) {
		u := turns[name]
		add(upstream{Name: name, Source: "conversations", Provider: history.Provider(name), Turns: u.waiting, Actions: turnActions}, u.breaker)
	}
	return all
}

func (l *Live) vendors(now time.Time) map[string]vendor {
	h := l.History
	if l.Vendor == nil || h == nil {
		return nil
	}
	all := map[string]vendor{}
	for _, in := range h.Incidents(now) {
		if !in.Open {
			continue
		}
		if page := l.Vendor(in.Upstream); page.Says != "" {
			all[in.Upstream] = vendor{page.Says, page.Fine, api.Time(page.At), in.Tries, in.Failures}
		}
	}
	return all
}

type turnUpstream struct {
	breaker breaker.State
	waiting int // turns
}

// turnUpstreams returns the upstreams of turns by name: those that this process has asked or that turns wait for,
// and those in the history.
func (l *Live) turnUpstreams() map[string]turnUpstream {
	all := map[string]turnUpstream{}
	if l.Conversations == nil {
		return all
	}
	if h := l.History; h != nil {
		for _, name := range h.Names() {
			if strings.HasPrefix(name, history.ConversationUpstream("")) {
				all[name] = turnUpstream{}
			}
		}
	}
	for u, waiting := range l.Conversations.Upstreams() {
		all[u.Name] = turnUpstream{u, waiting}
	}
	return all
}

func viewLearned(learned []transport.FirstByte) []firstByte {
	var all []firstByte
	for _, l := range learned {
		v := firstByte{l.Model, l.Limit.Milliseconds()}
		i := slices.IndexFunc(all, func(o firstByte) bool { return o.Model == v.Model })
		switch {
		case l.Limit == 0: // it is not known yet
		case i < 0:
			all = append(all, v)
		case all[i].LimitMs < v.LimitMs:
			all[i] = v
		}
	}
	slices.SortFunc(all, func(a, b firstByte) int {
		return cmp.Or(cmp.Compare(b.LimitMs, a.LimitMs), cmp.Compare(a.Model, b.Model))
	})
	return all
}

// outageName names an outage among those of its upstream, such as "model claude-sonnet-4-5", or returns "".
func outageName(o breaker.Outage) string {
	name := strings.TrimRight(o.Level+" "+o.Scope.Model, " ")
	if o.Scope.Credential != "" {
		name += " " + api.Credential(o.Scope.Credential)
	}
	return name
}

func viewOutage(g *breaker.Outage, now time.Time) outage {
	v := outage{
		Name: outageName(*g), Level: g.Level, Model: g.Scope.Model, Since: api.Time(g.Since), Probes: g.Probes, Probing: g.Probing,
		Recovering: g.Recovering, Waiting: g.Waiting, NextProbe: api.Time(g.Next), QuietUntil: api.Time(g.Until),
		RemainingMs: api.RemainingMs(g.Next, now),
	}
	if f := g.Fault; f != nil {
		v.Kind, v.Cause, v.Message = f.Kind.String(), f.Label(), f.Redacted()
		v.window = f.Window
	}
	return v
}

// limit is a limit that an upstream states, and how much of it is used, as JSON.
type limit struct {
	Credential string    `json:"credential"`       // whose it is: "own", or the beginning of a digest of the client's
	Model      string    `json:"model,omitzero"`   // left out: it is one of all models
	Name       string    `json:"name"`             // such as "input-tokens", or "5h" of a subscription
	Unit       string    `json:"unit"`             // what it counts
	Limit      float64   `json:"limit,omitzero"`   // left out: only the share is stated
	Remaining  float64   `json:"remaining"`        // of Limit
	Used       int       `json:"usedPercent"`      // in percent
	ResetAt    time.Time `json:"resetAt,omitzero"` // when all of it is there again; left out: unknown
	ResetMs    int64     `json:"resetMs,omitzero"` // until then
}

// limitBound is how many limits of an upstream are shown: the most used ones.
const limitBound = 12

// same reports whether a reader would see no difference: every answer changes a limit a little.
func (v limit) same(o limit) bool {
	v.Remaining, v.ResetAt, v.ResetMs = o.Remaining, o.ResetAt, o.ResetMs
	return v == o
}

func viewLimits(all []ratelimit.Headroom, now time.Time) []limit {
	var views []limit
	for _, h := range all {
		for _, l := range h.Limits {
			views = append(views, limit{
				Credential: api.Credential(h.Credential), Model: h.Model, Name: l.Name, Unit: string(l.Unit), Limit: l.Limit, Remaining: l.Remaining,
				Used: api.Percent(l.Used), ResetAt: api.Time(l.Reset), ResetMs: api.RemainingMs(l.Reset, now),
			})
		}
	}
	slices.SortStableFunc(views, func(a, b limit) int {
		return cmp.Or(b.Used-a.Used, strings.Compare(a.Model, b.Model), strings.Compare(a.Name, b.Name), strings.Compare(a.Credential, b.Credential))
	})
	return views[:min(len(views), limitBound)]
}
