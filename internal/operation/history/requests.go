package history

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/turn"
)

// RequestBound is how many requests are kept.
const RequestBound = 1000

const nameSize = 128 // bytes of a name that a client sends

// Outcome is how a request has ended.
type Outcome string

// The outcomes.
const (
	Answered Outcome = "answered"
	Failed   Outcome = "failed"    // with an error
	BrokeOff Outcome = "broke-off" // after a part of the answer
	Left     Outcome = "left"      // by its client, or stopped by it
)

// IsOutcome reports whether there is an outcome of that name.
func IsOutcome(o Outcome) bool {
	switch o {
	case Answered, Failed, BrokeOff, Left:
		return true
	}
	return false
}

// Request is an ended request for an answer, or a turn. It contains neither the request nor the answer. Its JSON is
// that of the API.
type Request struct {
	ID           int64     `json:"id,omitzero"`   // its number in its process; 0: it is a turn
	Turn         string    `json:"turn,omitzero"` // a turn's id
	Began        time.Time `json:"began"`         // when it arrived
	TookMs       int64     `json:"tookMs"`
	WaitedMs     int64     `json:"waitedMs,omitzero"` // of that, after failed tries
	Client       string    `json:"client,omitzero"`   // the client's program; left out: it sent no name
	Session      string    `json:"session,omitzero"`  // the client's own id of a conversation, or that of a turn
	Upstream     string    `json:"upstream"`          // where it ended
	Model        string    `json:"model,omitzero"`
	Tries        int       `json:"tries"` // one, and its retries
	Outcome      Outcome   `json:"outcome"`
	Cause        string    `json:"cause,omitzero"`       // of a failure, or what an answer does not say of itself, in plain words; left out: unknown, or there is none
	Status       int       `json:"status,omitzero"`      // of the answer; left out: there was none, or it is a turn
	InputTokens  int       `json:"inputTokens,omitzero"` // with those that were read from a cache; left out: unknown
	OutputTokens int       `json:"outputTokens,omitzero"`
}

// requests holds the latest ended requests, and the failures of those in progress.
type requests struct {
	all     []Request // the oldest first
	failing map[callID]failure
}

type failure struct {
	outcome Outcome
	cause   string
}

// watch records the end of a request, and reports whether the request has ended.
func (r *requests) watch(id callID, e *gateway.Event) bool {
	switch event := e.Event.(type) {
	case turn.Error:
		if len(r.failing) < callBound {
			r.failing[id] = failureOf(event)
		}
	case turn.Sealed:
		f := r.failing[id]
		delete(r.failing, id)
		r.add(e, event, f)
		return true
	}
	return false
}

func failureOf(e turn.Error) failure {
	f := failure{Failed, kindOf(e.Kind, 0).Cause}
	if e.Fault != nil {
		f.cause = e.Fault.Label()
	}
	switch {
	case e.Left():
		f = failure{outcome: Left}
	case e.Committed():
		f.outcome = BrokeOff
	}
	return f
}

// add keeps a request in place of the oldest.
func (r *requests) add(e *gateway.Event, end turn.Sealed, f failure) {
	began := cmp.Or(e.Call.Began, e.At.Add(-end.Duration))
	one := Request{
		ID: e.Call.ID, Turn: nameOfClient(e.Call.Turn), Began: began.UTC().Truncate(time.Millisecond), TookMs: e.At.Sub(began).Milliseconds(),
		WaitedMs: end.TotalRetryDelay.Milliseconds(), Client: nameOfClient(e.Call.Client), Session: nameOfClient(e.Call.Session),
		Upstream: e.Call.Upstream, Model: nameOfClient(e.Call.Model), Tries: 1 + end.RetryCount,
		Outcome: cmp.Or(f.outcome, outcomeOf(end.Status)), Cause: cmp.Or(f.cause, e.Note.Words()), Status: e.Status,
		InputTokens: end.InputTokens + int(e.Used.Input+e.Used.Cached), OutputTokens: end.OutputTokens + int(e.Used.Output),
	}
	if e.Call.Turn != "" {
		one.ID, one.Client = 0, e.Call.Face
	}
	if len(r.all) >= RequestBound {
		r.all = r.all[1:]
	}
	r.all = append(r.all, one)
}

func outcomeOf(s turn.Status) Outcome {
	switch s {
	case turn.Failed:
		return Failed
	case turn.Aborted:
		return Left
	}
	return Answered
}

// nameOfClient copies a name that a client sent, so that it does not keep the whole request in memory.
func nameOfClient(s string) string { return strings.Clone(text.Clip(s, nameSize)) }

// Query selects requests.
type Query struct {
	Upstream string  // its name; "": all
	Outcome  Outcome // "": all
	Client   string  // the program's name, or how it begins; "": all
	Text     string  // a part of any of the names, of the cause or of the number; "": all
	Limit    int     // how many requests at most
}

// Requests returns the latest requests that match a query, the newest end first, and the number of all matches.
func (h *History) Requests(q Query) (latest []Request, all int) {
	q.Client, q.Text = strings.ToLower(q.Client), strings.ToLower(q.Text)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Backward(h.requests.all) {
		if !q.asksFor(&r) {
			continue
		}
		if all++; all <= q.Limit {
			latest = append(latest, r)
		}
	}
	return latest, all
}

func (q *Query) asksFor(r *Request) bool {
	switch {
	case q.Upstream != "" && r.Upstream != q.Upstream,
		q.Outcome != "" && r.Outcome != q.Outcome,
		q.Client != "" && !strings.HasPrefix(strings.ToLower(r.Client), q.Client):
		return false
	}
	return q.Text == "" || r.contains(q.Text)
}

func (r *Request) contains(text string) bool {
	for _, s := range [...]string{r.Client, r.Session, r.Model, r.Upstream, r.Turn, r.Cause} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return strings.Contains(strconv.FormatInt(r.ID, 10), text)
}
