package history

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// What makes an incident: see docs/adr/0025-what-an-incident-is.md.
const (
	enough      = 3                // tries of a model that fail one after the other
	again       = 5 * time.Minute  // of answers between two are not enough to call them two
	quietTime   = 45 * time.Minute // without a try: nobody knows how it is
	callerBound = 4096             // callers that are told apart, of one incident
	clientBound = 32               // programs of which calls are counted, of one incident
	messageSize = 300              // bytes of what the provider said
)

// Incident is a time in which an upstream, or a model of it, has failed one try
// after the other.
type Incident struct {
	ID        string
	Upstream  string
	Models    []string
	Began     time.Time // the first failure
	Ended     time.Time // the first answer, or the last failure where nobody has asked since; zero: it is not over
	Recovered bool      // it has ended with an answer
	Tries     int       // that were sent meanwhile
	Failures  int       // of them
	Calls     int       // that had to wait
	Held      int       // of them that were answered
	Lost      int       // of them that were not
	Callers   int       // whose calls they were
	Clients   []Client  // the programs of those callers, the most calls first
	Kinds     []Kind    // of the failures, the most frequent first
	Message   string    // the first words of the provider
}

// Client is a program, and how many calls of it had to wait.
type Client struct {
	Name  string
	Calls int
}

// Kind is a kind of fault, and how often it occurred.
type Kind struct {
	Kind    fault.Kind
	Network bool // no server has answered
	Count   int
}

// Cause returns the kind in plain words, as [fault.Error.Cause] does.
func (k Kind) Cause() string {
	f := fault.Error{Kind: k.Kind, Status: http.StatusServiceUnavailable}
	if k.Network {
		f.Status = 0
	}
	return f.Label()
}

// unreached is behind a kind where no server has answered.
const unreached = "/network"

// nameOf names the kind of a fault in what is kept; kindOf understands that.
func nameOf(f *fault.Error) string {
	k := Kind{Kind: f.Kind, Network: true}
	if f.Kind == fault.Unavailable && f.Label() == k.Cause() {
		return f.Kind.String() + unreached
	}
	return f.Kind.String()
}

func kindOf(name string, count int) Kind {
	kind, network := strings.CutSuffix(name, unreached)
	return Kind{fault.KindOf(kind), network, count}
}

// incident is an Incident as it is counted.
type incident struct {
	Upstream  string          `json:"upstream"`
	Began     time.Time       `json:"began"`
	Ended     time.Time       `json:"ended,omitzero"`
	Recovered bool            `json:"recovered,omitzero"`
	Models    map[string]bool `json:"models"` // true: it fails still
	Tries     int             `json:"tries"`
	Failures  int             `json:"failures"`
	Calls     int             `json:"calls,omitzero"`
	Held      int             `json:"held,omitzero"`
	Lost      int             `json:"lost,omitzero"`
	Callers   int             `json:"callers,omitzero"`
	Clients   map[string]int  `json:"clients,omitzero"`
	Kinds     map[string]int  `json:"kinds"`
	Message   string          `json:"message,omitzero"`

	seen  map[string]bool // callers, while it is open
	shown *Incident       // nil: it has changed since it was shown
}

// Open reports whether it is not over.
func (in *incident) Open() bool { return in.Ended.IsZero() }

// run is a row of failures of a model without an answer between them.
type run struct {
	Since   time.Time      `json:"since"` // the first
	Last    time.Time      `json:"last"`
	N       int            `json:"n"`
	Kinds   map[string]int `json:"kinds,omitzero"` // until it is part of an incident
	Message string         `json:"message,omitzero"`
	Joined  bool           `json:"joined,omitzero"` // it is part of the upstream's incident
	As      string         `json:"as,omitzero"`     // and which model it is there

	in *incident // nil: it is not part of one
}

// failed counts a failed try.
func (h *History) failed(u *upstream, m made) {
	r := u.Runs[m.model]
	if r == nil {
		u.trim()
		r = &run{Since: m.ended, Kinds: map[string]int{}, Message: clip(m.fault.Redacted())}
		u.Runs[m.model] = r
	}
	r.N++
	r.Last = m.ended
	kind := nameOf(m.fault)
	u.Kind = kind
	if r.in != nil {
		r.in.shown = nil
		r.in.Tries++
		r.in.Failures++
		r.in.Kinds[kind]++
		return
	}
	if r.Kinds[kind]++; r.N >= enough {
		h.join(u, m, r)
	}
}

// clip bounds what a provider has said.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), messageSize)], "") }

// trim makes room for another model: the one goes that was not tried for the
// longest time.
func (u *upstream) trim() {
	if len(u.Runs) < modelBound {
		return
	}
	var oldest string
	for model, r := range u.Runs {
		if last := u.Runs[oldest]; last == nil || r.Last.Before(last.Last) {
			oldest = model
		}
	}
	u.over(oldest, u.Runs[oldest].Last, false)
}

// join returns a run part of the upstream's incident, and those who wait for its
// model with it.
func (h *History) join(u *upstream, m made, r *run) {
	in := u.latest
	if in == nil || !in.Open() && r.Since.Sub(in.Ended) > again {
		in = &incident{
			Upstream: m.upstream, Began: r.Since, Models: map[string]bool{}, Clients: map[string]int{}, Kinds: map[string]int{},
			Message: r.Message, seen: map[string]bool{},
		}
		u.latest = in
		h.keep(in)
	}
	if _, known := in.Models[m.model]; known || len(in.Models) < modelBound {
		r.As = m.model
	}
	in.Ended, in.Recovered, in.Models[r.As], in.shown = time.Time{}, false, true, nil
	in.Tries += r.N
	in.Failures += r.N
	for kind, n := range r.Kinds {
		in.Kinds[kind] += n
	}
	r.in, r.Joined, r.Kinds = in, true, nil
	for _, c := range h.calls {
		if c.upstream == m.upstream && c.model == m.model {
			in.suffers(c)
		}
	}
}

// keep adds an incident to the list. The oldest that is over makes room.
func (h *History) keep(in *incident) {
	h.incidents = append(h.incidents, in)
	if len(h.incidents) <= incidentBound {
		return
	}
	i := max(0, slices.IndexFunc(h.incidents, func(in *incident) bool { return !in.Open() }))
	h.incidents = slices.Delete(h.incidents, i, i+1)
}

// suffers counts a call that has to wait because of the incident, once.
func (in *incident) suffers(c *call) {
	if c.in != nil {
		return
	}
	c.in = in
	in.shown = nil
	in.Calls++
	if _, known := in.Clients[c.client]; known || len(in.Clients) < clientBound {
		in.Clients[c.client]++
	}
	switch {
	case in.seen[c.caller]:
	case len(in.seen) < callerBound:
		in.seen[c.caller] = true
		in.Callers++
	}
}

// settle counts a call that does not wait any more. One that has begun to wait
// where nobody counted it is counted now.
func (in *incident) settle(as *int) {
	*as++
	in.shown = nil
	in.Calls = max(in.Calls, in.Held+in.Lost)
}

// answered ends the run of a model. A try that was sent before the failures
// began says nothing about what came after.
func (u *upstream) answered(m made) {
	if u.latest != nil && u.latest.Open() {
		u.latest.Tries++
		u.latest.shown = nil
	}
	if r := u.Runs[m.model]; r != nil && !m.began.Before(r.Since) {
		u.over(m.model, m.ended, true)
	}
}

// over ends the run of a model, and the incident with the last of its runs.
func (u *upstream) over(model string, at time.Time, answered bool) {
	in, as := u.Runs[model].in, u.Runs[model].As
	delete(u.Runs, model)
	if in == nil {
		return
	}
	in.shown = nil
	if in.Models[as] = false; !in.failing() {
		in.Ended, in.Recovered = at, answered
		in.seen = map[string]bool{} // who comes again after a pause is counted again
	}
}

// failing reports whether a model of the incident fails still.
func (in *incident) failing() bool {
	for _, fails := range in.Models {
		if fails {
			return true
		}
	}
	return false
}

// rest ends the runs of models that nobody has asked for long, and for which
// nobody waits: nobody knows whether they fail still. A process that was not
// there could not ask.
func (h *History) rest(u *upstream, now time.Time) {
	for model, r := range u.Runs {
		if now.Sub(latest(r.Last, h.started)) > quietTime && !h.awaited(r, model) {
			u.over(model, r.Last, false)
			h.dirty = true
		}
	}
}

// latest returns the later of two instants.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// awaited reports whether somebody waits for a model that fails.
func (h *History) awaited(r *run, model string) bool {
	for _, c := range h.calls {
		if r.in != nil && c.in == r.in && c.at == r.in.Upstream && c.model == model {
			return true
		}
	}
	return false
}

// show returns the incident for people, who must not change what is in it.
func (in *incident) show() Incident {
	if in.shown == nil {
		v := in.view()
		in.shown = &v
	}
	return *in.shown
}

func (in *incident) view() Incident {
	v := Incident{
		ID: in.id(), Upstream: in.Upstream, Began: in.Began, Ended: in.Ended, Recovered: in.Recovered, Tries: in.Tries, Failures: in.Failures,
		Calls: in.Calls, Held: in.Held, Lost: in.Lost, Callers: in.Callers, Message: in.Message,
	}
	for model := range in.Models {
		v.Models = append(v.Models, model)
	}
	for name, n := range in.Clients {
		v.Clients = append(v.Clients, Client{name, n})
	}
	for kind, n := range in.Kinds {
		v.Kinds = append(v.Kinds, kindOf(kind, n))
	}
	slices.Sort(v.Models)
	slices.SortFunc(v.Clients, func(a, b Client) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Name, b.Name)) })
	slices.SortFunc(v.Kinds, func(a, b Kind) int {
		return cmp.Or(b.Count-a.Count, int(a.Kind)-int(b.Kind), strings.Compare(a.Cause(), b.Cause()))
	})
	return v
}

// id names the incident. An upstream has one at a time.
func (in *incident) id() string { return in.Began.UTC().Format("20060102-150405-") + in.Upstream }
