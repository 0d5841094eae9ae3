package server

import (
	"time"

	"github.com/ridethrough/ridethrough/gateway"
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
	Held       bool      `json:"held"`           // the client is being kept alive
	Kind       string    `json:"kind,omitzero"`  // of the latest fault
	Cause      string    `json:"cause,omitzero"` // the same in plain words
	Message    string    `json:"message,omitzero"`
	Retries    int       `json:"retries"`             // made so far
	MaxRetries int       `json:"maxRetries,omitzero"` // left out: no limit
	Began      time.Time `json:"began"`
	Due        time.Time `json:"due,omitzero"`      // the next try; left out: it is not known
	Deadline   time.Time `json:"deadline,omitzero"` // left out: no budget bounds it
	Remaining  int64     `json:"remainingMs"`       // until due; 0: now, or it is not known
	Waited     int64     `json:"waitedMs"`
}

// key names the wait among all.
func (v wait) key() int64 { return v.ID }

// same tells whether nothing has changed but the time.
func (v wait) same(other wait) bool {
	v.Remaining, v.Waited = other.Remaining, other.Waited
	return v == other
}

// loadWaits asks the gateway who waits.
func (s *Server) loadWaits() []wait {
	now := time.Now()
	from := s.config.Gateway.Waits()
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
		Began: instant(g.Began), Due: instant(g.Due), Deadline: instant(g.Deadline),
		Remaining: until(g.Due, now), Waited: g.Waited.Milliseconds(),
	}
	if g.Limit == policy.Unlimited {
		v.MaxRetries = 0
	}
	if f := g.Fault; f != nil {
		v.Kind, v.Cause, v.Message = f.Kind.String(), f.Label(), f.Redacted()
	}
	return v
}

// instant gives a time as it is shown; zero stays zero.
func instant(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// until counts down to an instant in milliseconds; 0: it is over, or none.
func until(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.Sub(now).Milliseconds())
}
