package history

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/text"
)

// What makes an incident: see docs/adr/0011-an-incident-is-three-failed-tries.md.
const (
	minFailures  = 3    // consecutive failed tries of a model
	callerBound  = 4096 // distinct callers of one incident
	clientBound  = 32   // client programs of one incident
	clientsShown = 8
	messageSize  = 300 // bytes of the provider's message
)

// MergeGap is the time between two incidents of an upstream below which they are one.
const MergeGap = 5 * time.Minute

// Incident is a period in which an upstream, or one of its models, failed several tries in a row. Its JSON is that
// of the API.
type Incident struct {
	ID          string    `json:"id"`
	Upstream    string    `json:"upstream"`
	Models      []string  `json:"models"`           // that failed
	Partial     bool      `json:"partial,omitzero"` // other models were answered meanwhile, or another of these
	Open        bool      `json:"open"`
	Began       time.Time `json:"began"`                // the first failure
	Ended       time.Time `json:"ended,omitzero"`       // the first answer, or the last failure if there was no try since
	RecoveredMs int64     `json:"recoveredMs,omitzero"` // from the first failure to the first answer; left out: none yet
	Tries       int       `json:"tries"`                // sent during the incident
	Failures    int       `json:"failures"`             // of these tries
	Calls       int       `json:"calls"`                // that had to wait
	Held        int       `json:"held"`                 // of these calls, answered
	Lost        int       `json:"lost"`                 // of these calls, not answered
	Callers     int       `json:"callers"`              // of these calls
	Clients     []Client  `json:"clients"`              // the callers' programs, the most calls first
	Kinds       []Kind    `json:"kinds"`                // of the failures, the most frequent first
	Message     string    `json:"message,omitzero"`     // of the first failure

	Elsewhere []Elsewhere `json:"elsewhere,omitempty"` // the same at other gateways of the fleet
}

// Is reports whether an id is that of the incident, at any gateway that has met it.
func (in *Incident) Is(id string) bool {
	return in.ID == id || slices.ContainsFunc(in.Elsewhere, func(e Elsewhere) bool { return e.ID == id })
}

// Client is a client program with the number of its calls that had to wait.
type Client struct {
	Name  string `json:"client,omitzero"` // left out: it sent no name
	Calls int    `json:"calls"`
}

// Kind is a kind of fault with the number of its occurrences.
type Kind struct {
	Kind  string `json:"kind"`
	Cause string `json:"cause"` // the same in plain words
	Count int    `json:"count"`
}

// unreached is the suffix of a kind without an answer from a server.
const unreached = "/network"

// nameOf returns the name under which a kind is stored. kindOf reverses it.
func nameOf(f *fault.Error) string {
	name := f.Kind.String() + unreached
	if f.Kind == fault.Unavailable && f.Label() == kindOf(name, 0).Cause {
		return name
	}
	return f.Kind.String()
}

func kindOf(name string, count int) Kind {
	kind, network := strings.CutSuffix(name, unreached)
	f := fault.Error{Kind: fault.KindOf(kind), Status: http.StatusServiceUnavailable}
	if network {
		f.Status = 0
	}
	return Kind{f.Kind.String(), f.Label(), count}
}

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

	seen map[string]bool // callers, while it is open
}

func (in *incident) isOpen() bool { return in.Ended.IsZero() }

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

func (h *History) failed(u *upstream, m try) {
	r := u.run(m)
	r.N++
	r.Last, r.Unsent = m.ended, m.isUnsent()
	kind := nameOf(m.Fault)
	u.Kind = kind
	if r.in != nil {
		r.in.Tries++
		r.in.Failures++
		r.in.Kinds[kind]++
		return
	}
	if r.Kinds[kind]++; r.N >= minFailures {
		h.join(u, m, r)
	}
}

// heard records that a model fails at another gateway of the fleet, which tried it for a call here. The calls that
// wait here belong to the incident, though this gateway may have sent too little to detect it.
func (h *History) heard(m try) {
	u := h.at(m.upstream)
	if u == nil || !upstreamFaults.Has(m.Fault.Kind) {
		return
	}
	h.dirty = true
	r := u.run(m)
	if r.Last = m.ended; r.in == nil {
		h.join(u, m, r)
	}
}

// run returns the failures of a try's model. This one is the first if there are no others.
func (u *upstream) run(m try) *run {
	r := u.Runs[m.model]
	if r == nil {
		u.trim()
		r = &run{Since: m.ended, Kinds: map[string]int{}, Message: text.Clip(m.Fault.Redacted(), messageSize)}
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
	if in == nil || !in.isOpen() && r.Since.Sub(in.Ended) > MergeGap {
		in = &incident{
			Upstream: m.upstream, Began: r.Since, Models: map[string]bool{}, Clients: map[string]int{}, Kinds: map[string]int{},
			Message: r.Message, seen: map[string]bool{},
		}
		u.latest = in
		h.incidents = append(h.incidents, in)
		h.trimIncidents()
	}
	if _, known := in.Models[m.model]; known || len(in.Models) < modelBound {
		r.As = m.model
	}
	in.Ended, in.Recovered, in.Models[r.As] = time.Time{}, false, true
	in.Partial = in.Partial || u.answeredSince(r.Since)
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

// answeredSince reports whether a healthy model was answered after a moment.
func (u *upstream) answeredSince(t time.Time) bool {
	for model, at := range u.Answers {
		if u.Runs[model] == nil && at.After(t) {
			return true
		}
	}
	return false
}

// trimIncidents removes the oldest ended incidents while there are too many.
func (h *History) trimIncidents() {
	for len(h.incidents) > incidentBound {
		i := max(0, slices.IndexFunc(h.incidents, func(in *incident) bool { return !in.isOpen() }))
		h.incidents = slices.Delete(h.incidents, i, i+1)
	}
}

// suffers counts a call that waits because of the incident, once, though it may have waited through another before.
func (in *incident) suffers(c *call) {
	if slices.Contains(c.in, in) {
		return
	}
	c.in = append(c.in, in)
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

// settle counts a call that has stopped waiting, also one whose wait was not counted.
func (in *incident) settle(as *int) {
	*as++
	in.Calls = max(in.Calls, in.Held+in.Lost)
}

// answered ends the run of a model, unless the try was sent before the failures began. It also ends the runs of
// other models whose last tries found no connection: there is one again.
func (u *upstream) answered(m try) {
	u.noteAnswer(m)
	in := u.latest
	if in != nil && in.isOpen() {
		in.Tries++
	}
	for model, r := range u.Runs {
		if model == m.model && !m.Start.Before(r.Since) || r.Unsent && m.Start.After(r.Last) {
			u.over(model, m.ended, true)
		}
	}
	if in != nil && in.isOpen() && m.Start.After(in.Began) && u.Runs[m.model] == nil {
		in.Partial = true
	}
}

// noteAnswer records when a model was last answered. It replaces the oldest record.
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

// over ends the run of a model, and the incident with its last run.
func (u *upstream) over(model string, at time.Time, answered bool) {
	in, as := u.Runs[model].in, u.Runs[model].As
	delete(u.Runs, model)
	if in == nil {
		return
	}
	if in.Models[as] = false; !in.failing() {
		in.Ended, in.Recovered = at, answered
		in.seen = map[string]bool{} // callers of a reopened incident count again
	}
}

func (in *incident) failing() bool {
	return slices.Contains(slices.Collect(maps.Values(in.Models)), true)
}

// rest ends the runs of models without a recent try and without waiting calls: sooner if the upstream has answered
// others since. Time before the start of this process does not count.
func (h *History) rest(u *upstream, now time.Time) {
	for model, r := range u.Runs {
		if now.Sub(latest(r.Last, h.started)) > quietAfter(r.Last, u.Last) && !h.awaited(r, model) {
			u.over(model, r.Last, false)
			h.dirty = true
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (h *History) awaited(r *run, model string) bool {
	for _, c := range h.calls {
		if r.in != nil && slices.Contains(c.in, r.in) && c.at == r.in.Upstream && c.model == model {
			return true
		}
	}
	return false
}

func (in *incident) view() Incident {
	v := Incident{
		ID: in.id(), Upstream: in.Upstream, Models: slices.Sorted(maps.Keys(in.Models)), Partial: in.Partial, Open: in.isOpen(),
		Began: in.Began.UTC().Truncate(time.Millisecond), Ended: in.Ended.UTC().Truncate(time.Millisecond),
		Tries: in.Tries, Failures: in.Failures, Calls: in.Calls, Held: in.Held, Lost: in.Lost, Callers: in.Callers,
		Clients: []Client{}, Kinds: []Kind{}, Message: in.Message,
	}
	if in.Recovered {
		v.RecoveredMs = max(1, in.Ended.Sub(in.Began).Milliseconds())
	}
	for name, n := range in.Clients {
		v.Clients = append(v.Clients, Client{name, n})
	}
	slices.SortFunc(v.Clients, func(a, b Client) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Name, b.Name)) })
	v.Clients = v.Clients[:min(clientsShown, len(v.Clients))]
	for name, n := range in.Kinds {
		v.Kinds = append(v.Kinds, kindOf(name, n))
	}
	slices.SortFunc(v.Kinds, func(a, b Kind) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Cause, b.Cause)) })
	return v
}

// id returns the incident's id. An upstream has at most one open incident.
func (in *incident) id() string { return in.Began.UTC().Format("20060102-150405-") + in.Upstream }
