package live

import (
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/policy"
)

// wait is a request that waits, as JSON.
type wait struct {
	ID         int64     `json:"id"`
	State      string    `json:"state"` // "waiting", "trying", "queued", "paused"
	Session    string    `json:"session,omitzero"`
	Client     string    `json:"client,omitzero"`
	API        string    `json:"api"`
	Upstream   string    `json:"upstream"`
	Model      string    `json:"model,omitzero"`
	Stream     bool      `json:"stream"`
	Held       bool      `json:"held"`           // keepalives go to the client
	Kind       string    `json:"kind,omitzero"`  // of the latest fault
	Cause      string    `json:"cause,omitzero"` // the same in plain words
	Message    string    `json:"message,omitzero"`
	Retries    int       `json:"retries"`             // made so far
	MaxRetries int       `json:"maxRetries,omitzero"` // left out: no limit
	Began      time.Time `json:"began"`
	Due        time.Time `json:"due,omitzero"`      // of the next try; left out: it is not known
	Deadline   time.Time `json:"deadline,omitzero"` // left out: none
	Remaining  int64     `json:"remainingMs"`       // until due; 0: now, or unknown
	Waited     int64     `json:"waitedMs"`
}

// key returns the id.
func (v wait) key() int64 { return v.ID }

// same reports whether nothing has changed but the time.
func (v wait) same(other wait) bool {
	v.Remaining, v.Waited = other.Remaining, other.Waited
	return v == other
}

// loadWaits returns the gateway's waits.
func (l *Live) loadWaits() []wait {
	now := time.Now()
	from := l.Gateway.Waits()
	all := make([]wait, len(from))
	for i := range from {
		all[i] = viewWait(&from[i], now)
	}
	return all
}

func viewWait(g *gateway.Wait, now time.Time) wait {
	v := wait{
		ID: g.ID, State: g.State, Session: g.Session, Client: g.Client, API: g.API, Upstream: g.Upstream,
		Model: g.Model, Stream: g.Stream, Held: g.Held, Retries: g.Retries, MaxRetries: g.Limit,
		Began: rest.Time(g.Began), Due: rest.Time(g.Due), Deadline: rest.Time(g.Deadline),
		Remaining: rest.Remaining(g.Due, now), Waited: g.Waited.Milliseconds(),
	}
	if g.Limit == policy.Unlimited {
		v.MaxRetries = 0
	}
	if f := g.Fault; f != nil {
		v.Kind, v.Cause, v.Message = f.Kind.String(), f.Label(), f.Redacted()
	}
	return v
}
