package server

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// incident is a time in which an upstream has failed, as JSON.
type incident struct {
	ID        string     `json:"id"`
	Upstream  string     `json:"upstream"`
	Models    []string   `json:"models"` // that have failed
	Open      bool       `json:"open"`
	Began     time.Time  `json:"began"`
	Ended     time.Time  `json:"ended,omitzero"`       // left out: it is not over
	Recovered int64      `json:"recoveredMs,omitzero"` // from the first failure to the first answer; left out: there was none
	Tries     int        `json:"tries"`                // that were sent meanwhile
	Failures  int        `json:"failures"`             // of them
	Calls     int        `json:"calls"`                // requests that had to wait
	Held      int        `json:"held"`                 // of them that were answered
	Lost      int        `json:"lost"`                 // of them that were not
	Callers   int        `json:"callers"`              // whose they were
	Clients   []affected `json:"clients"`              // the programs of the callers
	Kinds     []cause    `json:"kinds"`
	Message   string     `json:"message,omitzero"` // the first words of the provider
}

// affected is a program whose requests had to wait, as JSON.
type affected struct {
	Client string `json:"client,omitzero"` // left out: it has told no name
	Calls  int    `json:"calls"`
}

// cause is a kind of fault and how often it occurred, as JSON.
type cause struct {
	Kind  string `json:"kind"`
	Cause string `json:"cause"` // the same in plain words
	Count int    `json:"count"`
}

// affectedBound is how many programs are named.
const affectedBound = 8

// key names the incident.
func (v incident) key() string { return v.ID }

// same tells whether nothing has changed: what is not compared changes with
// something that is.
func (v incident) same(o incident) bool {
	return v.ID == o.ID && v.Open == o.Open && v.Ended.Equal(o.Ended) && v.Tries == o.Tries && v.Failures == o.Failures &&
		v.Calls == o.Calls && v.Held == o.Held && v.Lost == o.Lost
}

// loadIncidents asks for the latest incidents.
func (s *Server) loadIncidents() []incident {
	if s.config.History == nil {
		return []incident{}
	}
	from := s.config.History.Incidents(time.Now())
	all := make([]incident, len(from))
	for i := range from {
		all[i] = viewIncident(&from[i])
	}
	return all
}

func viewIncident(in *history.Incident) incident {
	v := incident{
		ID: in.ID, Upstream: in.Upstream, Models: in.Models, Open: in.Ended.IsZero(), Began: instant(in.Began), Ended: instant(in.Ended),
		Tries: in.Tries, Failures: in.Failures, Calls: in.Calls, Held: in.Held, Lost: in.Lost, Callers: in.Callers,
		Clients: []affected{}, Kinds: []cause{}, Message: in.Message,
	}
	if in.Recovered {
		v.Recovered = in.Ended.Sub(in.Began).Milliseconds()
	}
	for _, c := range in.Clients[:min(affectedBound, len(in.Clients))] {
		v.Clients = append(v.Clients, affected{c.Name, c.Calls})
	}
	for _, k := range in.Kinds {
		v.Kinds = append(v.Kinds, cause{k.Kind.String(), k.Cause(), k.Count})
	}
	return v
}

func (s *Server) serveIncidents(w http.ResponseWriter, r *http.Request) { s.incidents.serve(s, w, r) }

// serveIncident shows one incident: to those who ask for text, on a page of it.
func (s *Server) serveIncident(w http.ResponseWriter, r *http.Request) {
	id, now := r.PathValue("id"), time.Now()
	var all []history.Incident
	if s.config.History != nil {
		all = s.config.History.Incidents(now)
	}
	i := slices.IndexFunc(all, func(in history.Incident) bool { return in.ID == id })
	switch {
	case i < 0:
		refuse(w, http.StatusNotFound, "no incident is named %q; see /-/incidents", clip(id))
	case strings.Contains(r.Header.Get("Accept"), "text/plain"):
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, all[i].Text(now)) // a client that has left misses it
	default:
		answer(w, http.StatusOK, viewIncident(&all[i]))
	}
}
