package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/server/api"
)

// measurementTime is how long a measurement is shown before it is read again: every request changes it a
// little.
const measurementTime = 5 * time.Second

// measurements caches what the history measured of upstreams.
type measurements struct {
	mu     sync.Mutex
	byName map[string]measurement
}

// measurement is what the history measured of an upstream, and when it was read.
type measurement struct {
	at time.Time
	history.Measured
	strip []cell
}

// measurementOf returns what was measured of an upstream.
func (l *Live) measurementOf(name string, now time.Time) measurement {
	h := l.history()
	if h == nil {
		return measurement{}
	}
	l.measured.mu.Lock()
	defer l.measured.mu.Unlock()
	m, known := l.measured.byName[name]
	if known && now.Sub(m.at) < measurementTime {
		return m
	}
	m = measurement{at: now, Measured: h.Upstream(name, now)}
	m.strip = make([]cell, history.Cells)
	for i, c := range m.Strip {
		m.strip[i] = viewCell(c)
	}
	if l.measured.byName == nil {
		l.measured.byName = map[string]measurement{}
	}
	l.measured.byName[name] = m
	return m
}

// cell is a quarter of an hour, as JSON. Without requests it is empty.
type cell struct {
	OK           int   `json:"ok,omitzero"`           // tries that succeeded
	Failed       int   `json:"failed,omitzero"`       // tries that failed
	Retried      int   `json:"retried,omitzero"`      // requests that succeeded after failed tries
	Lost         int   `json:"lost,omitzero"`         // requests that waited and got no answer
	FirstTokenMs int64 `json:"firstTokenMs,omitzero"` // the median
}

func viewCell(c history.Cell) cell {
	return cell{c.OK, c.Failed, c.Retried, c.Lost, c.First.Milliseconds()}
}

// saving is what waiting achieved in a week, as JSON.
type saving struct {
	Calls    int   `json:"calls"`   // requests that succeeded in spite of an incident
	Outages  int   `json:"outages"` // incidents with such requests
	WaitedMs int64 `json:"waitedMs"`
	Retries  int   `json:"retries"`
	Blips    int   `json:"blips"`   // requests that succeeded after failures outside an incident
	SinceMs  int64 `json:"sinceMs"` // the time span
}

// waitSum sums up the waits for an upstream.
type waitSum struct {
	n      int
	due    time.Time // of the first try; zero: none is scheduled
	trying bool      // one is in progress
	cause  string    // of one of the waits
}

// waitsByUpstream sums up all waits, by the name of the upstream.
func (l *Live) waitsByUpstream() map[string]waitSum {
	all := map[string]waitSum{}
	add := func(name, state string, v *WaitView) {
		c := all[name]
		c.n++
		c.due, c.trying, c.cause = sooner(c.due, v.Due), c.trying || state == "trying", cmp.Or(c.cause, v.Cause)
		all[name] = c
	}
	for _, v := range l.waits.latest() {
		v := v.(*callWait)
		add(v.Upstream, v.State, &v.WaitView)
	}
	for _, v := range l.turns.latest() {
		v := v.(*TurnWait)
		add(v.Upstream, v.State, &v.WaitView)
	}
	return all
}

// sooner returns the earlier of two times; a zero one is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// complete adds the waits and the measurement to the health.
func (v *upstream) complete(health history.Condition, c waitSum, m measurement, now time.Time) {
	v.Waiting = max(v.Waiting, c.n)
	if v.LastSuccess.IsZero() {
		v.LastSuccess = api.Time(m.Last)
	}
	v.State = stateOf(v, health, m.Slow)
	if v.State == "waiting" || v.State == "down" || v.State == "degraded" {
		v.Until = v.next(c)
		v.UntilMs = api.RemainingMs(v.Until, now)
	}
	v.Slow, v.Samples, v.Strip = m.Slow, m.Samples, m.strip
	v.FirstTokenMs, v.FirstTokenBeforeMs = m.First.Milliseconds(), m.Before.Milliseconds()
	if m.strip != nil {
		v.Saved = &saving{m.Saved.Calls, m.Saved.Outages, m.Saved.Waited.Milliseconds(), m.Saved.Retries, m.Saved.Blips, m.Saved.Since.Milliseconds()}
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

// reason returns why an upstream is in its state, in a sentence.
func (v *upstream) reason(c waitSum, m history.Measured) string {
	cause := c.cause
	for _, o := range v.Outages {
		cause = cmp.Or(o.Cause, cause)
	}
	cause = cmp.Or(cause, m.Kind.Cause())
	noun := "request"
	if v.Provider != "" {
		noun = "turn"
	}
	switch v.State {
	case "paused":
		return "Paused: no request is sent until it is resumed."
	case "degraded":
		text := capital(cause) + " for " + v.models() + "; others are answered."
		if v.Waiting > 0 {
			text += " " + plural.Count(v.Waiting, noun, noun+"s") + " waiting."
		}
		return text
	case "waiting":
		return capital(cause) + ": " + plural.Count(v.Waiting, noun, noun+"s") + " waiting."
	case "down":
		return capital(cause) + " at the last request; nothing waits for it."
	case "recovering":
		return "It answers again. The waiting calls are sent one after the other: " + plural.Count(v.Waiting, noun, noun+"s") + " left."
	case "slow":
		return "The first token takes " + seconds(m.First) + "; in the day before it took " + seconds(m.Before) + "."
	case "no-data":
		return "No request yet."
	}
	if m.Samples == 0 {
		return "The last request succeeded."
	}
	return "It answers: " + plural.Count(m.Samples, "answer", "answers") + " in the last hour."
}

// namedBound is how many failing models a sentence names.
const namedBound = 3

// models names the models that fail.
func (v *upstream) models() string {
	names := slices.Clone(v.Failing)
	for i, name := range names {
		names[i] = cmp.Or(name, "requests that name no model")
	}
	if more := len(names) - namedBound; more > 0 {
		names = append(names[:namedBound], plural.Count(more, "other model", "other models"))
	}
	return strings.Join(names, ", ")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
