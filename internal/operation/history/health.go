package history

import (
	"maps"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
)

// A failure counts this long if no call waits for its end and none is tried.
const (
	quietTime     = 45 * time.Minute // longer than the longest usual wait
	abandonedTime = 10 * time.Minute // where the upstream has answered others since
)

// Condition is what the latest tries say about an upstream as a whole.
type Condition string

// The conditions.
const (
	Up         Condition = "up"         // nothing is known against it
	Recovering Condition = "recovering" // it answers again, and those who waited go one after the other
	Degraded   Condition = "degraded"   // models fail, or a credential, while others are answered
	Down       Condition = "down"       // nothing is known to be answered
)

// Health is the condition of an upstream, and its failing models.
type Health struct {
	Condition Condition
	Failing   []string         // the models whose last tries have failed, in order; "": the one of requests that name none
	Outages   []breaker.Outage // of its breaker, without those that nothing has confirmed for long
}

// Health judges an upstream by its breaker and by the last tries of each of its models. A single failure counts
// only if no answer is known. A nil History knows no tries.
func (h *History) Health(name string, b breaker.State, now time.Time) Health {
	known := knowledge{answered: b.LastSuccess, failing: map[string]bool{}}
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if u := h.upstreams[name]; u != nil {
			h.rest(u, now)
			u.addTo(&known, now)
		}
	}
	return known.judge(b.Outages, now)
}

// knowledge is what the tries of an upstream's models have shown.
type knowledge struct {
	failing  map[string]bool // models
	answers  bool            // a model is answered
	unsent   bool            // the last failure of a model is that of a connection, which all models share
	answered time.Time       // the last answer; zero: unknown
}

func (u *upstream) addTo(k *knowledge, now time.Time) {
	k.answered = latest(k.answered, u.Last)
	for model, r := range u.Runs {
		if r.N > 1 || u.Last.IsZero() {
			k.failing[model] = true
			k.unsent = k.unsent || r.Unsent
		}
	}
	for model, at := range u.Answers {
		k.answers = k.answers || u.Runs[model] == nil && now.Sub(at) <= quietTime
	}
}

func (k *knowledge) judge(outages []breaker.Outage, now time.Time) (v Health) {
	whole, recovers := k.unsent, false
	for _, o := range outages {
		if k.outdated(&o, now) {
			continue
		}
		v.Outages = append(v.Outages, o)
		switch {
		case o.Recovering:
			recovers = true
		case o.Whole():
			whole = true
		default:
			k.failing[o.Scope.Model] = true
			k.answers = k.answers || k.answered.After(o.Latest) && !o.Latest.IsZero()
		}
	}
	v.Failing = slices.Sorted(maps.Keys(k.failing))
	switch fails := whole || len(v.Failing) > 0; {
	case fails && (whole || !k.answers):
		v.Condition = Down
	case fails:
		v.Condition = Degraded
	case recovers:
		v.Condition = Recovering
	default:
		v.Condition = Up
	}
	return v
}

// outdated reports whether nothing has confirmed an outage for long, and no call waits for its end.
func (k *knowledge) outdated(o *breaker.Outage, now time.Time) bool {
	return o.Waiting == 0 && !o.Probing && !o.Recovering && !o.Latest.IsZero() && o.Until.Before(now) &&
		now.Sub(o.Latest) > quietAfter(o.Latest, k.answered)
}

// quietAfter returns how long a failure counts that no later try has confirmed, given the upstream's last answer.
func quietAfter(failed, answered time.Time) time.Duration {
	if answered.After(failed) {
		return abandonedTime
	}
	return quietTime
}
