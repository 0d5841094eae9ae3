package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// spending is what a conversation has taken, as far as its events tell.
type spending struct {
	turns     int     // that have ended, without the last one
	all, last expense // of those; of the last turn, which may be in progress
	begun     bool    // there is a last turn
	open      bool    // it is in progress

	since   time.Time // when the wait in progress began; zero: there is none
	retries int       // made in the calls of its model so far, without those that are over
}

// expense is what one or more turns have taken.
type expense struct {
	llm.Usage
	retries int
	waited  time.Duration
}

// on notes an event. now is when it was received.
func (s *spending) on(e turn.Event, now time.Time) {
	switch e := e.(type) {
	case turn.Start:
		if s.begun {
			s.turns++
			s.all = s.all.plus(s.last)
		}
		*s = spending{turns: s.turns, all: s.all, begun: true, open: true}
	case turn.Usage:
		s.last.Usage = s.last.Add(e.Usage)
	case turn.Retry:
		s.endWait(now)
		s.since, s.retries = now, max(0, e.Run.Tries-1)
	case turn.Recovered:
		s.since, s.retries = time.Time{}, 0
		s.last.retries += e.Retries
	case turn.TextDelta, turn.ReasoningDelta, turn.AssistantMessage, turn.Switched, turn.Error:
		s.endWait(now)
	case turn.Sealed:
		s.since, s.retries, s.open = time.Time{}, 0, false
		s.last.retries, s.last.waited = e.RetryCount, e.TotalRetryDelay
	}
}

// endWait adds the wait in progress.
func (s *spending) endWait(now time.Time) {
	if !s.since.IsZero() {
		s.last.waited += now.Sub(s.since)
	}
	s.since = time.Time{}
}

// plus returns the sum of two expenses.
func (e expense) plus(other expense) expense {
	return expense{e.Add(other.Usage), e.retries + other.retries, e.waited + other.waited}
}

// now returns what the last turn has taken until an instant.
func (s *spending) now(at time.Time) expense {
	e := s.last
	e.retries += s.retries
	if !s.since.IsZero() {
		e.waited += at.Sub(s.since)
	}
	return e
}

// lines are what /usage shows.
func (s *spending) lines(at time.Time) []string {
	if !s.begun {
		return []string{"Nothing was asked so far"}
	}
	which := "the last turn"
	if s.open {
		which = "this turn"
	}
	last := s.now(at)
	all := s.all.plus(last)
	return []string{
		display.Capitalize(which) + ": " + last.tokens(), "This conversation, " + plural.Count(s.turns+1, "turn", "turns") + ": " + all.tokens(),
		waiting(which, last, all), costUnknown,
	}
}

// costUnknown is said of the cost: there is no table of prices, which would be out of date.
const costUnknown = "Cost unknown: no provider states it with its answers"

// tokens returns the tokens in words.
func (e expense) tokens() string {
	if e.Usage == (llm.Usage{}) {
		return "no tokens reported"
	}
	return fmt.Sprintf("%s tokens in%s, %s out%s", display.Thousands(e.Input), share(e.CacheRead, "cached", e.CacheWrite, "written to the cache"),
		display.Thousands(e.Output), share(e.Reasoning, "reasoning", 0, ""))
}

// waiting says how long and how often the provider was waited for.
func waiting(which string, last, all expense) string {
	if all.retries == 0 && all.waited < time.Second {
		return "No waiting so far"
	}
	return "Waited in " + which + ": " + last.waits() + "; in all: " + all.waits()
}

// waits returns the time and the retries.
func (e expense) waits() string {
	if e.retries == 0 && e.waited < time.Second {
		return "not at all"
	}
	return display.Duration(max(e.waited, time.Second)) + " (" + plural.Count(e.retries, "retry", "retries") + ")"
}

// share returns the parts of a number of tokens in parentheses; "": there are none.
func share(first int, name string, second int, other string) string {
	var parts []string
	if first > 0 {
		parts = append(parts, display.Thousands(first)+" "+name)
	}
	if second > 0 {
		parts = append(parts, display.Thousands(second)+" "+other)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// printUsage prints what the conversation has taken.
func (m *model) printUsage() {
	m.clearComposer()
	m.ensureGap()
	for _, line := range m.spending.lines(time.Now()) {
		m.printWrapped(m.paint.faint, "· "+line)
	}
	m.emit("")
}
