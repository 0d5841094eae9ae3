package live

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// incident is a period in which an upstream failed.
type incident struct{ history.Incident }

func (v *incident) key() key { return key{text: v.ID} }

// same reports whether nothing has changed. The fields that it skips change together with others.
func (v *incident) same(other item) bool {
	o := other.(*incident)
	return v.ID == o.ID && v.Open == o.Open && v.Ended.Equal(o.Ended) && v.Tries == o.Tries && v.Failures == o.Failures &&
		v.Calls == o.Calls && v.Held == o.Held && v.Lost == o.Lost && v.Partial == o.Partial && slices.Equal(v.Elsewhere, o.Elsewhere)
}

// loadIncidents returns the latest incidents.
func (l *Live) loadIncidents() []incident {
	all := []incident{}
	if l.History == nil {
		return all
	}
	for _, in := range l.History.FleetIncidents(time.Now()) {
		all = append(all, incident{in})
	}
	return all
}

func (l *Live) serveIncident(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	all := l.loadIncidents()
	i := slices.IndexFunc(all, func(in incident) bool { return in.Is(id) })
	if i < 0 {
		rest.Refuse(w, http.StatusNotFound, "no incident is named %q; see /-/incidents", rest.Clip(id))
		return
	}
	for _, kind := range []string{"text/markdown", "text/plain"} {
		if strings.Contains(r.Header.Get("Accept"), kind) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = io.WriteString(w, all[i].Report(time.Now())) // a client that left misses it
			return
		}
	}
	rest.Answer(w, http.StatusOK, all[i])
}

const requestsShown = 100

func queryOf(r *http.Request) (history.Query, error) {
	values := r.URL.Query()
	q := history.Query{
		Upstream: values.Get("upstream"), Client: values.Get("client"), Text: values.Get("text"),
		Outcome: history.Outcome(values.Get("outcome")), Limit: requestsShown,
	}
	if q.Outcome != "" && !history.IsOutcome(q.Outcome) {
		return q, rest.Problem(http.StatusBadRequest, "outcome: want answered, failed, broke-off or left, not %q", rest.Clip(string(q.Outcome)))
	}
	limit, err := rest.Number("limit", values.Get("limit"))
	if limit > 0 {
		q.Limit = int(min(limit, history.RequestBound))
	}
	return q, err
}

func (l *Live) serveRequests(w http.ResponseWriter, r *http.Request) {
	query, err := queryOf(r)
	if err != nil {
		rest.WriteProblem(w, rest.ProblemOf(l.Log, r, err))
		return
	}
	answer := struct {
		All      int               `json:"all"` // that the query asks for
		Requests []history.Request `json:"requests"`
	}{Requests: []history.Request{}}
	if l.History != nil {
		latest, all := l.History.Requests(query)
		answer.All, answer.Requests = all, append(answer.Requests, latest...)
	}
	rest.Answer(w, http.StatusOK, answer)
}
