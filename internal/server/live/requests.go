package live

import (
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// ended is a request that has ended, or a turn, as JSON.
type ended struct {
	ID           int64     `json:"id,omitzero"`   // of a request
	Turn         string    `json:"turn,omitzero"` // of a turn
	Began        time.Time `json:"began"`
	TookMs       int64     `json:"tookMs"`
	WaitedMs     int64     `json:"waitedMs,omitzero"` // of that, after failed tries
	Client       string    `json:"client,omitzero"`
	Session      string    `json:"session,omitzero"`
	Upstream     string    `json:"upstream"`
	Model        string    `json:"model,omitzero"`
	Tries        int       `json:"tries"`
	Outcome      string    `json:"outcome"`         // "answered", "failed", "broke-off", "left"
	Cause        string    `json:"cause,omitzero"`  // of a failure
	Status       int       `json:"status,omitzero"` // of the answer
	InputTokens  int       `json:"inputTokens,omitzero"`
	OutputTokens int       `json:"outputTokens,omitzero"`
}

// requestsShown is how many requests are shown without a limit.
const requestsShown = 100

// queryOf returns what a reader asks for.
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

// serveRequests shows the latest requests that have ended.
func (l *Live) serveRequests(w http.ResponseWriter, r *http.Request) {
	query, err := queryOf(r)
	if err != nil {
		rest.WriteProblem(w, rest.ProblemOf(l.Log, r, err))
		return
	}
	answer := struct {
		All      int     `json:"all"` // that the query asks for
		Requests []ended `json:"requests"`
	}{Requests: []ended{}}
	if l.History != nil {
		var latest []history.Request
		latest, answer.All = l.History.Requests(query)
		for i := range latest {
			answer.Requests = append(answer.Requests, viewRequest(&latest[i]))
		}
	}
	rest.Answer(w, http.StatusOK, answer)
}

func viewRequest(r *history.Request) ended {
	return ended{
		ID: max(0, r.ID), Turn: r.Turn, Began: api.Time(r.Began), TookMs: r.Took.Milliseconds(), WaitedMs: r.Waited.Milliseconds(),
		Client: r.Client, Session: r.Session, Upstream: r.Upstream, Model: r.Model, Tries: r.Tries,
		Outcome: string(r.Outcome), Cause: r.Cause, Status: r.Status, InputTokens: r.Input, OutputTokens: r.Output,
	}
}
