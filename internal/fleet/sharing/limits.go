package sharing

import (
	"maps"
	"time"

	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/told"
	"github.com/ridethrough/ridethrough/ratelimit"
)

const limitsKind = "limits" // of the messages

// JoinLimits has the limits of an upstream, which the table knows by a name, be one with those of the other replicas.
// Another upstream that had the name before is not heard of any more. The returned function ends it.
func (s *Sharing) JoinLimits(upstream, name string, t *ratelimit.Table) (leave func()) {
	l := &limits{fleet: s.fleet, upstream: upstream, name: name, table: t}
	s.mu.Lock()
	maps.DeleteFunc(s.limits, func(_ string, old *limits) bool { return old.name == name && old.table == t })
	s.limits[upstream] = l
	s.mu.Unlock()
	t.Join(name, l)
	return func() {
		s.mu.Lock()
		if s.limits[upstream] == l {
			delete(s.limits, upstream)
		}
		s.mu.Unlock()
		t.Leave(name, l)
	}
}

// limits are those of one upstream. It implements ratelimit.Peers.
type limits struct {
	fleet    *fleet.Fleet
	upstream string
	name     string // in the table
	table    *ratelimit.Table
}

// wireLimits has news of the limits of an upstream.
type wireLimits struct {
	Upstream string         `json:"upstream"`
	News     []wireHeadroom `json:"news"`
}

// wireHeadroom is a ratelimit.News in a message.
type wireHeadroom struct {
	Model      string           `json:"model,omitempty"`
	Credential string           `json:"credential,omitempty"` // a digest
	Limits     []wireLimit      `json:"limits,omitempty"`
	Spent      ratelimit.Amount `json:"spent,omitzero"`
	Demand     ratelimit.Amount `json:"demand,omitzero"`
	Refused    bool             `json:"refused,omitempty"`
}

// wireLimit is a ratelimit.Stated in a message. Its times are as of told.In.
type wireLimit struct {
	Name      string         `json:"name"`
	Unit      ratelimit.Unit `json:"unit"`
	Window    time.Duration  `json:"window,omitzero"`
	Limit     float64        `json:"limit"`
	Remaining float64        `json:"remaining,omitzero"`
	Used      float64        `json:"used,omitzero"`
	Reset     time.Duration  `json:"reset,omitzero"`
	Seen      time.Duration  `json:"seen"`
	AtOnce    bool           `json:"atOnce,omitempty"`
}

// Tell implements ratelimit.Peers. Without a connection there is no one to tell.
func (l *limits) Tell(all []ratelimit.News) {
	now := l.fleet.Clock.Now()
	m := wireLimits{Upstream: l.upstream, News: make([]wireHeadroom, len(all))}
	for i, n := range all {
		w := wireHeadroom{Model: n.Model, Credential: n.Credential, Spent: n.Spent, Demand: n.Demand, Refused: n.Refused}
		for _, s := range n.Limits {
			w.Limits = append(w.Limits, wireLimit{
				Name: s.Name, Unit: s.Unit, Window: s.Window, Limit: s.Limit.Limit, Remaining: s.Remaining, Used: s.Used,
				Reset: told.In(s.Reset, now), Seen: told.In(s.Seen, now), AtOnce: s.AtOnce,
			})
		}
		m.News[i] = w
	}
	_ = l.fleet.Send(limitsKind, m)
}

// receiveLimits takes in the news of another replica.
func (s *Sharing) receiveLimits(from string, m wireLimits) {
	s.mu.Lock()
	l := s.limits[m.Upstream]
	if s.closed {
		l = nil
	}
	s.mu.Unlock()
	if l == nil {
		return
	}
	now := s.fleet.Clock.Now()
	for _, w := range m.News[:min(len(m.News), mostNews)] {
		l.table.Hear(from, w.news(l.name, now))
	}
}

// news returns the news of a message, with times by the clock here.
func (w wireHeadroom) news(upstream string, now time.Time) ratelimit.News {
	n := ratelimit.News{
		Key:   ratelimit.Key{Upstream: upstream, Credential: w.Credential, Model: w.Model},
		Spent: w.Spent.Bounded(), Demand: w.Demand.Bounded(), Refused: w.Refused,
	}
	for _, l := range w.Limits {
		n.Limits = append(n.Limits, ratelimit.Stated{AtOnce: l.AtOnce, Limit: ratelimit.Limit{
			Name: l.Name, Unit: l.Unit, Window: told.Duration(l.Window), Limit: l.Limit, Remaining: min(max(l.Remaining, 0), l.Limit),
			Used: min(max(l.Used, 0), 1), Reset: told.Time(l.Reset, now), Seen: told.Time(min(l.Seen, -1), now),
		}})
	}
	return n
}
