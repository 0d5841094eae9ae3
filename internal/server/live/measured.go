package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/text"
)

// measurementTime is how long a measurement is shown before it is read again: every request changes it a little.
const measurementTime = 5 * time.Second

// measurements caches the history's measurements of upstreams.
type measurements struct {
	mu     sync.Mutex
	byName map[string]measurement
}

type measurement struct {
	at time.Time
	history.Measured
}

func (l *Live) measurementOf(name string, now time.Time) measurement {
	h := l.History
	if h == nil {
		return measurement{}
	}
	l.measured.mu.Lock()
	defer l.measured.mu.Unlock()
	m := l.measured.byName[name]
	if now.Sub(m.at) >= measurementTime {
		m = measurement{now, h.Upstream(name, now)}
		l.measured.byName[name] = m
	}
	return m
}

// saving is what waiting achieved in the last day, as JSON.
type saving struct {
	Calls    int   `json:"calls"`   // requests that succeeded after failed tries
	Outages  int   `json:"outages"` // incidents that such requests met
	WaitedMs int64 `json:"waitedMs"`
	Retries  int   `json:"retries"`
	SinceMs  int64 `json:"sinceMs"` // the time span
}

// waitSum sums up the waits for an upstream.
type waitSum struct {
	calls  int       // without turns, of which the list has the oldest only
	due    time.Time // of the first try; zero: not scheduled
	trying bool      // one is in progress
	cause  string    // of one of the waits
}

func (l *Live) waitsByUpstream() map[string]waitSum {
	all := map[string]waitSum{}
	add := func(name, state string, v *WaitView, calls int) {
		c := all[name]
		c.calls += calls
		c.due, c.trying, c.cause = sooner(c.due, v.Due), c.trying || state == "trying", cmp.Or(c.cause, v.Cause)
		all[name] = c
	}
	for _, v := range l.waits.latest() {
		v := v.(*callWait)
		add(v.Upstream, v.State, &v.WaitView, 1)
	}
	for _, v := range l.turns.latest() {
		v := v.(*TurnWait)
		add(v.Upstream, v.State, &v.WaitView, 0)
	}
	return all
}

// sooner returns the earlier of two times, ignoring a zero one.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// complete adds the waits and the measurement to the health.
func (v *upstream) complete(health history.Condition, c waitSum, m measurement, now time.Time) {
	v.Waiting = max(v.Waiting, v.Turns+c.calls)
	if v.LastSuccess.IsZero() {
		v.LastSuccess = api.Time(m.Last)
	}
	v.State = stateOf(v, health, m.Slow)
	if v.State == "waiting" || v.State == "down" || v.State == "degraded" {
		v.Until = v.next(c)
		v.UntilMs = api.RemainingMs(v.Until, now)
	}
	v.Samples = m.Samples
	v.FirstTokenMs, v.FirstTokenBeforeMs = m.First.Milliseconds(), m.Before.Milliseconds()
	if m.Saved.Since > 0 {
		v.Saved = &saving{m.Saved.Calls, m.Saved.Outages, m.Saved.Waited.Milliseconds(), m.Saved.Retries, m.Saved.Since.Milliseconds()}
	}
	v.Reason = v.reason(c, m.Measured)
}

// next returns when the upstream is tried next; zero: now, or unknown.
func (v *upstream) next(c waitSum) time.Time {
	first := c.due
	for _, o := range v.Outages {
		if o.window {
			continue
		}
		first = sooner(first, o.NextProbe)
		c.trying = c.trying || o.Probing
	}
	if c.trying {
		return time.Time{}
	}
	return first
}

// stateOf returns the state of an upstream in one word: the worst that applies.
func stateOf(v *upstream, health history.Condition, slow bool) string {
	switch {
	case !v.Paused.IsZero():
		return "paused"
	case health == history.Degraded:
		return "degraded"
	case v.Waiting > 0 && health != history.Recovering: // the failures may be too few for an outage
		return "waiting"
	case health == history.Down:
		return "down"
	case health == history.Recovering:
		return "recovering"
	case slow:
		return "slow"
	case v.LastSuccess.IsZero():
		return "no-data"
	}
	return "operational"
}

// reason explains the state of an upstream in a sentence.
func (v *upstream) reason(c waitSum, m history.Measured) string {
	cause := c.cause
	for _, o := range v.Outages {
		cause = cmp.Or(o.Cause, cause)
	}
	cause = cmp.Or(cause, m.Cause, "unknown failure")
	noun := "request"
	switch v.Turns {
	case 0:
	case v.Waiting:
		noun = "turn"
	default:
		noun = "call"
	}
	switch v.State {
	case "paused":
		return "Paused: no request is sent until it is resumed."
	case "degraded":
		said := text.Capital(cause) + " for " + v.models() + "; others are answered."
		if v.Waiting > 0 {
			said += " " + text.Count(v.Waiting, noun, noun+"s") + " waiting."
		}
		return said
	case "waiting":
		return text.Capital(cause) + ": " + text.Count(v.Waiting, noun, noun+"s") + " waiting."
	case "down":
		return text.Capital(cause) + " at the last request; nothing waits for it."
	case "recovering":
		return "It answers again. The waiting calls are sent one after the other: " + text.Count(v.Waiting, noun, noun+"s") + " left."
	case "slow":
		return "The first token takes " + seconds(m.First) + "; in the day before it took " + seconds(m.Before) + "."
	case "no-data":
		return "No request yet."
	}
	if m.Samples == 0 {
		return "The last request succeeded."
	}
	return "It answers: " + text.Count(m.Samples, "answer", "answers") + " in the last hour."
}

const namedBound = 3

func (v *upstream) models() string {
	names := slices.Clone(v.Failing)
	for i, name := range names {
		names[i] = cmp.Or(name, "requests that name no model")
	}
	if more := len(names) - namedBound; more > 0 {
		names = append(names[:namedBound], text.Count(more, "other model", "other models"))
	}
	return strings.Join(names, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
