package live

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// incident is a period in which an upstream failed, as JSON.
type incident struct {
	ID          string     `json:"id"`
	Upstream    string     `json:"upstream"`
	Models      []string   `json:"models"`           // that failed
	Partial     bool       `json:"partial,omitzero"` // other models were answered meanwhile
	Open        bool       `json:"open"`
	Began       time.Time  `json:"began"`
	Ended       time.Time  `json:"ended,omitzero"`       // left out: it is open
	RecoveredMs int64      `json:"recoveredMs,omitzero"` // from the first failure to the first answer; left out: none yet
	Tries       int        `json:"tries"`                // sent in that time
	Failures    int        `json:"failures"`             // of the tries
	Calls       int        `json:"calls"`                // requests that waited
	Held        int        `json:"held"`                 // of them that succeeded
	Lost        int        `json:"lost"`                 // of them that failed
	Callers     int        `json:"callers"`              // the number of callers
	Clients     []affected `json:"clients"`              // the callers' programs
	Kinds       []cause    `json:"kinds"`
	Message     string     `json:"message,omitzero"`   // the provider's first error text
	Replicas    []string   `json:"replicas,omitempty"` // of a fleet, that have seen it
}

// affected is a program whose requests waited, as JSON.
type affected struct {
	Client string `json:"client,omitzero"` // left out: it sent no name
	Calls  int    `json:"calls"`
}

// cause is a kind of fault and how often it occurred, as JSON.
type cause struct {
	Kind  string `json:"kind"`
	Cause string `json:"cause"` // the same in plain words
	Count int    `json:"count"`
}

// affectedBound is how many programs are listed.
const affectedBound = 8

// key returns the id.
func (v *incident) key() key { return key{text: v.ID} }

// same reports whether nothing has changed. The fields that it skips change together with others.
func (v *incident) same(other item) bool {
	o := other.(*incident)
	return v.ID == o.ID && v.Open == o.Open && v.Ended.Equal(o.Ended) && v.Tries == o.Tries && v.Failures == o.Failures &&
		v.Calls == o.Calls && v.Held == o.Held && v.Lost == o.Lost && v.Partial == o.Partial && len(v.Replicas) == len(o.Replicas)
}

// loadIncidents returns the latest incidents.
func (l *Live) loadIncidents() []incident {
	from := l.incidentsOf(l.history(), time.Now())
	all := make([]incident, len(from))
	for i := range from {
		all[i] = viewIncident(&from[i])
	}
	return all
}

// incidentsOf returns the incidents of a history, which may be nil. Outside a fleet they name no replicas: those would be
// earlier processes.
func (l *Live) incidentsOf(h *history.History, now time.Time) (all []history.Incident) {
	if h != nil {
		all = h.Incidents(now)
	}
	for i := range all {
		if l.Replica == "" {
			all[i].Replicas = nil
		}
	}
	return all
}

func viewIncident(in *history.Incident) incident {
	v := incident{
		ID: in.ID, Upstream: in.Upstream, Models: in.Models, Partial: in.Partial, Open: in.Ended.IsZero(), Began: api.Time(in.Began), Ended: api.Time(in.Ended),
		Tries: in.Tries, Failures: in.Failures, Calls: in.Calls, Held: in.Held, Lost: in.Lost, Callers: in.Callers,
		Clients: []affected{}, Kinds: []cause{}, Message: in.Message, Replicas: in.Replicas,
	}
	if in.Recovered {
		v.RecoveredMs = in.Ended.Sub(in.Began).Milliseconds()
	}
	for _, c := range in.Clients[:min(affectedBound, len(in.Clients))] {
		v.Clients = append(v.Clients, affected{c.Name, c.Calls})
	}
	v.Kinds = append(v.Kinds, viewKinds(in.Kinds)...)
	return v
}

func viewKinds(of []history.Kind) (all []cause) {
	for _, k := range of {
		all = append(all, cause{k.Kind.String(), k.Cause(), k.Count})
	}
	return all
}

// incidentDetails is an incident with its course, as JSON.
type incidentDetails struct {
	incident
	Course course `json:"course"`
}

// course is how an incident went, in steps of the same length from its beginning on, as JSON.
type course struct {
	StepMs int64   `json:"stepMs"`
	Points []point `json:"points"`
}

type point struct {
	Faults  map[string]int `json:"faults,omitzero"`  // failed tries by their cause; left out: none
	Waiting int            `json:"waiting,omitzero"` // the most calls that waited
}

func viewCourse(c history.Course) course {
	v := course{StepMs: c.Step.Milliseconds(), Points: make([]point, len(c.Points))}
	for i, p := range c.Points {
		v.Points[i].Waiting = p.Waiting
		if len(p.Faults) > 0 {
			v.Points[i].Faults = p.Faults
		}
	}
	return v
}

// serveIncident shows one incident, or its report as text or Markdown.
func (l *Live) serveIncident(w http.ResponseWriter, r *http.Request) {
	id, now, h := r.PathValue("id"), time.Now(), l.history()
	all := l.incidentsOf(h, now)
	i := slices.IndexFunc(all, func(in history.Incident) bool { return in.Is(id) })
	if i < 0 {
		rest.Refuse(w, http.StatusNotFound, "no incident is named %q; see /-/incidents", rest.Clip(id))
		return
	}
	went, _ := h.Course(id, now) // none, if it has just been forgotten
	switch accept := r.Header.Get("Accept"); {
	case strings.Contains(accept, "text/markdown"):
		report(w, "text/markdown", all[i].Markdown(went, now))
	case strings.Contains(accept, "text/plain"):
		report(w, "text/plain", all[i].Text(now))
	default:
		rest.Answer(w, http.StatusOK, incidentDetails{viewIncident(&all[i]), viewCourse(went)})
	}
}

// report answers with a report.
func report(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = io.WriteString(w, text) // a client that left misses it
}
