package history

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/clip"
	"github.com/ridethrough/ridethrough/turn"
)

// RequestBound is how many requests are kept. Each takes less than 200 bytes beside its names.
const RequestBound = 1000

// Bounds of what is kept of requests.
const (
	nameSize  = 128  // bytes of a name that a client sends
	nameBound = 4096 // distinct names
)

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

// Request is a request for an answer that has ended, or a turn. It has nothing of what was asked or answered.
type Request struct {
	ID       int64         `json:"id"`             // its number in its process; of a turn below 0
	Turn     string        `json:"turn,omitzero"`  // a turn's id; "": it is a request
	Began    time.Time     `json:"began,omitzero"` // when it arrived
	Took     time.Duration `json:"took,omitzero"`
	Waited   time.Duration `json:"waited,omitzero"`   // of that, after failed tries
	Client   string        `json:"client,omitzero"`   // the client's program; "": it sent no name
	Session  string        `json:"session,omitzero"`  // the client's own id of a conversation, or that of a turn
	Upstream string        `json:"upstream,omitzero"` // where it ended
	Model    string        `json:"model,omitzero"`
	Tries    int           `json:"tries,omitzero"` // one, and its retries
	Outcome  Outcome       `json:"outcome"`
	Cause    string        `json:"cause,omitzero"`  // of a failure, in plain words; "": unknown, or there was none
	Status   int           `json:"status,omitzero"` // of the answer; 0: there was none, or it is a turn
	Input    int           `json:"input,omitzero"`  // tokens, with those that were read from a cache; 0: unknown
	Output   int           `json:"output,omitzero"` // likewise
}

// requests holds the latest requests that have ended, and how those fail that have not.
type requests struct {
	all     []Request // once it is full, the oldest is at next
	next    int
	failing map[callID]failure
	names   map[string]string // that several requests share
	dirty   bool              // changed since the file was written
}

// failure is how a request fails that has not ended yet.
type failure struct {
	outcome Outcome
	cause   string
}

func newRequests() requests {
	return requests{failing: map[callID]failure{}, names: map[string]string{}}
}

// watch keeps a request with its end.
func (r *requests) watch(id callID, e *gateway.Event) {
	switch event := e.Event.(type) {
	case turn.Error:
		if len(r.failing) < callBound {
			r.failing[id] = failureOf(event)
		}
	case turn.Sealed:
		f := r.failing[id]
		delete(r.failing, id)
		r.add(e, event, f)
	}
}

func failureOf(e turn.Error) failure {
	f := failure{Failed, kindOf(e.Kind, 0).Cause()}
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
	if len(r.all) < RequestBound {
		r.all = append(r.all, Request{})
	}
	to := &r.all[r.next]
	r.next, r.dirty = (r.next+1)%RequestBound, true
	began := cmp.Or(e.Call.Began, e.At.Add(-end.Duration))
	*to = Request{
		ID: e.Call.ID, Turn: r.name(e.Call.Turn), Began: began, Took: e.At.Sub(began), Waited: end.TotalRetryDelay,
		Client: r.name(e.Call.Client), Session: r.name(e.Call.Session), Upstream: r.name(e.Call.Upstream), Model: r.name(e.Call.Model),
		Tries: 1 + end.RetryCount, Outcome: cmp.Or(f.outcome, outcomeOf(end.Status)), Cause: f.cause, Status: e.Status,
		Input: end.InputTokens + int(e.Used.Input+e.Used.Cached), Output: end.OutputTokens + int(e.Used.Output),
	}
	if e.Call.Turn != "" {
		to.Client = e.Call.Face
	}
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

// name returns a name that a client sends. Requests share those that are the same: most are.
func (r *requests) name(s string) string {
	if s == "" {
		return ""
	}
	if known, ok := r.names[s]; ok {
		return known
	}
	if len(r.names) >= nameBound {
		clear(r.names)
	}
	kept := strings.Clone(clip.Text(s, nameSize))
	r.names[kept] = kept
	return kept
}

// Query says which requests are asked for.
type Query struct {
	Upstream string  // its name; "": all
	Outcome  Outcome // "": all
	Client   string  // the program's name, or how it begins; "": all
	Text     string  // a part of any of the names, of the cause or of the number; "": all
	Limit    int     // how many requests at most
}

// Requests returns the latest requests that a query asks for, the newest end first, and the number of all of them.
func (h *History) Requests(q Query) (latest []Request, all int) {
	q.Client, q.Text = strings.ToLower(q.Client), strings.ToLower(q.Text)
	h.mu.Lock()
	defer h.mu.Unlock()
	kept, next := h.requests.all, h.requests.next
	for i := range kept {
		r := &kept[(next+len(kept)-1-i)%len(kept)]
		if !q.asksFor(r) {
			continue
		}
		if all++; all <= q.Limit {
			latest = append(latest, *r)
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

// contains reports whether a text in lower case is a part of what is known of a request.
func (r *Request) contains(text string) bool {
	for _, s := range [...]string{r.Client, r.Session, r.Model, r.Upstream, r.Turn, r.Cause} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return strings.Contains(strconv.FormatInt(r.ID, 10), text)
}
