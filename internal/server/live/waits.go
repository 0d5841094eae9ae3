package live

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/policy"
)

// WaitView is the wait of a call or a turn for its next try, as JSON.
type WaitView struct {
	Kind        string    `json:"kind,omitzero"`       // of the latest fault
	Cause       string    `json:"cause,omitzero"`      // the same in plain words
	Message     string    `json:"message,omitzero"`    // the provider's text
	Code        string    `json:"code,omitzero"`       // of a turn, such as "529"
	Retries     int       `json:"retries"`             // made so far
	MaxRetries  int       `json:"maxRetries,omitzero"` // left out: no limit
	Began       time.Time `json:"began"`
	Due         time.Time `json:"due,omitzero"`      // of the next try; left out: unknown, or in progress
	Deadline    time.Time `json:"deadline,omitzero"` // left out: none
	OpensAt     time.Time `json:"opensAt,omitzero"`  // a usage window is spent, which opens then; left out: none is
	RemainingMs int64     `json:"remainingMs"`       // until due; 0: now, or unknown
	WaitedMs    int64     `json:"waitedMs"`
}

// ViewWait returns the view of a wait of a call or turn that began at a time. retries is how many retries were made
// before.
func ViewWait(w *policy.Wait, retries int, began, now time.Time) WaitView {
	v := WaitView{
		Retries: retries, MaxRetries: w.Limit, Began: api.Time(began), Due: api.Time(w.Due), Deadline: api.Time(w.Deadline),
		RemainingMs: api.RemainingMs(w.Due, now), WaitedMs: w.Waited.Milliseconds(),
	}
	if w.Limit == policy.Unlimited {
		v.MaxRetries = 0
	}
	if f := w.Fault; f != nil {
		v.Kind, v.Cause, v.Message = f.Kind.String(), f.Label(), f.Redacted()
		if f.Window {
			v.OpensAt = api.Time(f.ResetAt)
		}
	}
	return v
}

// withTimeOf returns the view with the time of another one, to compare everything else.
func (v WaitView) withTimeOf(o WaitView) WaitView {
	v.RemainingMs, v.WaitedMs = o.RemainingMs, o.WaitedMs
	return v
}

// The faces of waits, as in the metrics.
const (
	callFace = "gateway"
	turnFace = "conversation"
)

type callWait struct {
	Face         string `json:"face"`
	ID           int64  `json:"id"`
	State        string `json:"state"` // "waiting", "trying", "queued", "paused"
	Session      string `json:"session,omitzero"`
	Client       string `json:"client,omitzero"`
	API          string `json:"api"`
	Upstream     string `json:"upstream"`
	Model        string `json:"model,omitzero"`
	Stream       bool   `json:"stream"`
	Held         bool   `json:"held"`                  // keepalives go to the client
	AfterContent bool   `json:"afterContent,omitzero"` // part of the answer is out, which broke off
	Outage       string `json:"outage,omitzero"`       // whose end it waits for, by its name among those of the upstream; left out: none
	Next         string `json:"next,omitzero"`         // the fallback where skip sends it; left out: none
	Limit        string `json:"limit,omitzero"`        // for which it waits, in words; left out: it waits for no limit
	Replica      string `json:"replica,omitzero"`      // of the fleet, that has it; left out: the one that answers

	CachedUntil time.Time `json:"cachedUntil,omitzero"` // the end of the session's prompt cache at the upstream; left out: none is known
	CacheTokens int64     `json:"cacheTokens,omitzero"` // that it holds
	WaitView
}

func (v *callWait) key() key { return key{number: v.ID} }

func (v *callWait) same(other item) bool {
	now, o := *v, *other.(*callWait)
	now.WaitView, now.Limit = v.withTimeOf(o.WaitView), o.Limit
	return now == o
}

func (l *Live) loadCalls() []callWait {
	now := time.Now()
	from := l.Gateway.Waits()
	all := make([]callWait, len(from))
	for i := range from {
		w := &from[i]
		all[i] = callWait{
			Face: callFace, ID: w.ID, State: w.State, Session: w.Session, Client: w.Client, API: w.API, Upstream: w.Upstream,
			Model: w.Model, Stream: w.Stream, Held: w.Held, AfterContent: w.AfterContent, Outage: outageName(w.Outage), Next: w.Next, CachedUntil: api.Time(w.Cache.Until), CacheTokens: w.Cache.Tokens, Replica: w.Replica, WaitView: ViewWait(&w.Wait, w.Retries(), w.Began, now),
		}
		if p := w.Place; p != nil {
			all[i].Limit = p.String()
			all[i].RemainingMs = p.In.Milliseconds()
		}
	}
	return all
}

const turnsBound = 500

// TurnWait is a turn that waits, as JSON.
type TurnWait struct {
	Face         string `json:"face"`
	Conversation string `json:"conversation"`
	Title        string `json:"title,omitzero"`
	Turn         string `json:"turn"`
	State        string `json:"state"` // "waiting", "trying", "paused" with its conversation
	Provider     string `json:"provider"`
	Model        string `json:"model"`
	Upstream     string `json:"upstream"`        // its name among the upstreams
	Outage       string `json:"outage,omitzero"` // as of a call
	WaitView
}

// key returns the conversation's id: it has one turn at a time.
func (v *TurnWait) key() key { return key{text: v.Conversation} }

func (v *TurnWait) same(other item) bool {
	now, o := *v, *other.(*TurnWait)
	now.WaitView = v.withTimeOf(o.WaitView)
	return now == o
}

func (l *Live) loadTurns() []TurnWait {
	if l.Conversations == nil {
		return []TurnWait{}
	}
	oldest, _ := l.Conversations.Waits(turnsBound)
	all := slices.AppendSeq([]TurnWait{}, oldest)
	outages := map[string][]breaker.Outage{}
	for u := range l.Conversations.Upstreams() {
		outages[u.Name] = u.Outages
	}
	for i := range all {
		v := &all[i]
		if v.Face = turnFace; v.State == "waiting" {
			v.Outage = outageOf(v.Model, outages[v.Upstream])
		}
	}
	return all
}

func (l *Live) loadWaits() []item {
	return append(itemsOf(l.loadCalls()), itemsOf(l.loadTurns())...)
}

func outageOf(model string, outages []breaker.Outage) string {
	i := slices.IndexFunc(outages, func(o breaker.Outage) bool { return o.Whole() || o.Scope.Model == model })
	if i < 0 {
		return ""
	}
	return outageName(outages[i])
}

// tally is the size of a list of which only some items are shown, as JSON.
type tally struct {
	Of  string `json:"of"`
	All int    `json:"all"`
}

func (v *tally) key() key { return key{text: v.Of} }

func (v *tally) same(other item) bool { return *v == *other.(*tally) }

func (l *Live) loadTallies() []tally {
	if l.Conversations == nil {
		return []tally{}
	}
	_, n := l.Conversations.Waits(turnsBound)
	return []tally{{"turns", n}}
}
