package history

import (
	"cmp"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clip"
)

// What makes an incident: see docs/adr/0025-what-an-incident-is.md.
const (
	minFailures = 3    // consecutive failed tries of a model
	callerBound = 4096 // distinct callers of one incident
	clientBound = 32   // client programs of one incident
	messageSize = 300  // bytes of the provider's message
)

// MergeGap is the time between two incidents of an upstream below which they are one.
const MergeGap = 5 * time.Minute

// Incident is a time in which an upstream, or a model of it, failed several tries in a row.
type Incident struct {
	ID        string
	Upstream  string
	Models    []string  // that failed
	Partial   bool      // other models were answered meanwhile, or another of these
	Began     time.Time // the first failure
	Ended     time.Time // the first answer, or the last failure if there was no try since; zero: open
	Recovered bool      // ended with an answer
	Tries     int       // sent during the incident
	Failures  int       // of these tries
	Calls     int       // that had to wait
	Held      int       // of these calls, answered
	Lost      int       // of these calls, not answered
	Callers   int       // of these calls
	Clients   []Client  // the callers' programs, the most calls first
	Kinds     []Kind    // of the failures, the most frequent first
	Message   string    // of the first failure
	Replicas  []string  // of a fleet, that have seen it; nil: of none
	IDs       []string  // under which one of them knows it; nil: ID only
}

// Is reports whether an id is that of the incident, at any gateway that has seen it.
func (in *Incident) Is(id string) bool { return in.ID == id || slices.Contains(in.IDs, id) }

// Client is a client program with the number of its calls that had to wait.
type Client struct {
	Name  string
	Calls int
}

// Kind is a kind of fault with the number of its occurrences.
type Kind struct {
	Kind    fault.Kind
	Network bool // no server answered
	Count   int
}

// Cause returns the kind in plain words, as [fault.Error.Label] does.
func (k Kind) Cause() string {
	f := fault.Error{Kind: k.Kind, Status: http.StatusServiceUnavailable}
	if k.Network {
		f.Status = 0
	}
	return f.Label()
}

// unreached is the suffix of a kind without an answer from a server.
const unreached = "/network"

// nameOf returns the name under which a kind is stored, for kindOf.
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

// kindsOf returns the kinds of faults by their names, the most frequent first.
func kindsOf(counts map[string]int) (all []Kind) {
	for name, n := range counts {
		all = append(all, kindOf(name, n))
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(b.Count-a.Count, int(a.Kind)-int(b.Kind), strings.Compare(a.Cause(), b.Cause())) < 0
	})
	return all
}

// incident is an Incident with its counters.
type incident struct {
	Upstream  string          `json:"upstream"`
	Began     time.Time       `json:"began"`
	Ended     time.Time       `json:"ended,omitzero"`
	Recovered bool            `json:"recovered,omitzero"`
	Models    map[string]bool `json:"models"` // true: still failing
	Partial   bool            `json:"partial,omitzero"`
	Tries     int             `json:"tries"`
	Failures  int             `json:"failures"`
	Calls     int             `json:"calls,omitzero"`
	Held      int             `json:"held,omitzero"`
	Lost      int             `json:"lost,omitzero"`
	Callers   int             `json:"callers,omitzero"`
	Clients   map[string]int  `json:"clients,omitzero"`
	Kinds     map[string]int  `json:"kinds"`
	Message   string          `json:"message,omitzero"`
	Course    course          `json:"course,omitzero"`
	Replicas  []string        `json:"replicas,omitempty"`
	IDs       []string        `json:"ids,omitempty"`

	seen  map[string]bool // callers, while it is open
	shown *Incident       // the cached view; nil: outdated
}

// Open reports whether the incident has not ended.
func (in *incident) Open() bool { return in.Ended.IsZero() }

// run is a series of consecutive failures of a model.
type run struct {
	Since   time.Time      `json:"since"` // the first
	Last    time.Time      `json:"last"`
	N       int            `json:"n"`
	Kinds   map[string]int `json:"kinds,omitzero"` // before it joins an incident
	Message string         `json:"message,omitzero"`
	Unsent  bool           `json:"unsent,omitzero"` // at the last, no connection could be made
	Joined  bool           `json:"joined,omitzero"` // it is part of the upstream's incident
	As      string         `json:"as,omitzero"`     // its model in that incident

	in *incident // nil: none
}

// failed counts a failed try.
func (h *History) failed(u *upstream, m try) {
	r := u.run(m)
	r.N++
	r.Last, r.Unsent = m.ended, m.unsent
	kind := nameOf(m.fault)
	u.Kind = kind
	if r.in != nil {
		r.in.shown = nil
		r.in.Tries++
		r.in.Failures++
		r.in.Kinds[kind]++
		r.in.count(m.ended, kind, 1)
		return
	}
	if r.Kinds[kind]++; r.N >= minFailures {
		h.join(u, m, r)
	}
}

// heard notes that a model fails at another gateway of the fleet, where it was tried for a call here. The calls that
// wait here belong to the incident, though this gateway may have sent too little to see it by itself.
func (h *History) heard(name string, m try) {
	u := h.at(name)
	if u == nil || !upstreamFaults.Has(m.fault.Kind) {
		return
	}
	h.dirty = true
	r := u.run(m)
	if r.Last = m.ended; r.in == nil {
		h.join(u, m, r)
	}
}

// run returns the failures of a try's model, which begin with this one if there are none.
func (u *upstream) run(m try) *run {
	r := u.Runs[m.model]
	if r == nil {
		u.trim()
		r = &run{Since: m.ended, Kinds: map[string]int{}, Message: clip.Text(m.fault.Redacted(), messageSize)}
		u.Runs[m.model] = r
	}
	return r
}

// trim makes room for another model by ending the run with the oldest failure.
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

// join adds a run and the calls that wait for its model to the upstream's incident.
func (h *History) join(u *upstream, m try, r *run) {
	in := u.latest
	if in == nil || !in.Open() && r.Since.Sub(in.Ended) > MergeGap {
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
	in.Partial = in.Partial || u.answeredSince(r.Since)
	in.Tries += r.N
	in.Failures += r.N
	for kind, n := range r.Kinds {
		in.Kinds[kind] += n
		in.count(r.Since, kind, n) // of which only the first has a time
	}
	r.in, r.Joined, r.Kinds = in, true, nil
	for _, c := range h.calls {
		if c.upstream == m.upstream && c.model == m.model {
			in.suffers(c, m.ended)
		}
	}
}

// answeredSince reports whether a model that does not fail has been answered after a moment.
func (u *upstream) answeredSince(t time.Time) bool {
	for model, at := range u.Answers {
		if u.Runs[model] == nil && at.After(t) {
			return true
		}
	}
	return false
}

// keep adds an incident to the list, in place of the oldest that has ended.
func (h *History) keep(in *incident) {
	h.incidents = append(h.incidents, in)
	if len(h.incidents) <= incidentBound {
		return
	}
	i := max(0, slices.IndexFunc(h.incidents, func(in *incident) bool { return !in.Open() }))
	h.incidents = slices.Delete(h.incidents, i, i+1)
}

// suffers counts a call that has to wait because of the incident, once.
func (in *incident) suffers(c *call, at time.Time) {
	if c.in != nil {
		return
	}
	c.in = in
	in.shown = nil
	in.change(at, func() { in.Calls++ })
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

// settle counts a call that has stopped waiting, also one whose wait was not counted.
func (in *incident) settle(as *int, at time.Time) {
	in.shown = nil
	in.change(at, func() {
		*as++
		in.Calls = max(in.Calls, in.Held+in.Lost)
	})
}

// answered ends the run of a model, unless the try was sent before the failures began. It ends the runs of other
// models whose last tries found no connection: there is one again.
func (u *upstream) answered(m try) {
	u.noteAnswer(m)
	in := u.latest
	if in != nil && in.Open() {
		in.Tries++
		in.shown = nil
	}
	for model, r := range u.Runs {
		if model == m.model && !m.began.Before(r.Since) || r.Unsent && m.began.After(r.Last) {
			u.over(model, m.ended, true)
		}
	}
	if in != nil && in.Open() && m.began.After(in.Began) && u.Runs[m.model] == nil {
		in.Partial = true
	}
}

// noteAnswer notes when a model was answered last, in place of the one whose answer is the oldest.
func (u *upstream) noteAnswer(m try) {
	if _, known := u.Answers[m.model]; !known && len(u.Answers) >= modelBound {
		oldest := m.model
		for model, at := range u.Answers {
			if last, any := u.Answers[oldest]; !any || at.Before(last) {
				oldest = model
			}
		}
		delete(u.Answers, oldest)
	}
	u.Answers[m.model] = m.ended
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
		in.seen = map[string]bool{} // callers of a reopened incident count again
	}
}

// failing reports whether a model of the incident is still failing.
func (in *incident) failing() bool {
	for _, fails := range in.Models {
		if fails {
			return true
		}
	}
	return false
}

// rest ends the runs of models without a recent try and without waiting calls: sooner where the upstream has
// answered others since. Time before the start of this process does not count.
func (h *History) rest(u *upstream, now time.Time) {
	if h.summed {
		return // the calls that wait are known to its parts
	}
	for model, r := range u.Runs {
		if now.Sub(latest(r.Last, h.started)) > quietAfter(r.Last, u.Last) && !h.awaited(r, model) {
			u.over(model, r.Last, false)
			h.dirty = true
		}
	}
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// awaited reports whether a call waits for a failing model.
func (h *History) awaited(r *run, model string) bool {
	for _, c := range h.calls {
		if r.in != nil && c.in == r.in && c.at == r.in.Upstream && c.model == model {
			return true
		}
	}
	return false
}

// show returns the incident. Its slices are shared and must not be changed.
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
		Calls: in.Calls, Held: in.Held, Lost: in.Lost, Callers: in.Callers, Message: in.Message, Partial: in.Partial,
		Replicas: in.Replicas, IDs: in.IDs,
	}
	for model := range in.Models {
		v.Models = append(v.Models, model)
	}
	for name, n := range in.Clients {
		v.Clients = append(v.Clients, Client{name, n})
	}
	v.Kinds = kindsOf(in.Kinds)
	slices.Sort(v.Models)
	sort.Slice(v.Clients, func(i, j int) bool {
		a, b := v.Clients[i], v.Clients[j]
		return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Name, b.Name)) < 0
	})
	return v
}

// id returns the incident's id. An upstream has one open incident at a time.
func (in *incident) id() string { return in.Began.UTC().Format("20060102-150405-") + in.Upstream }
