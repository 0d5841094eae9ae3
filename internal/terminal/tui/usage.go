package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// spending is what a conversation has cost in tokens, retries and waits, by its events.
type spending struct {
	turns     int     // that have ended, without the last one
	all, last expense // of those; of the last turn, which may be in progress
	begun     bool    // there is a last turn
	open      bool    // it is in progress

	since   time.Time // when the wait in progress began; zero: no wait
	retries int       // made in the calls of its model so far, without those that are over
}

type expense struct {
	llm.Usage
	retries int
	waited  time.Duration
}

// on handles an event that was received at now.
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

func (s *spending) endWait(now time.Time) {
	if !s.since.IsZero() {
		s.last.waited += now.Sub(s.since)
	}
	s.since = time.Time{}
}

func (e expense) plus(other expense) expense {
	return expense{e.Add(other.Usage), e.retries + other.retries, e.waited + other.waited}
}

// now returns the expense of the last turn until an instant.
func (s *spending) now(at time.Time) expense {
	e := s.last
	e.retries += s.retries
	if !s.since.IsZero() {
		e.waited += at.Sub(s.since)
	}
	return e
}

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
		text.Capital(which) + ": " + last.tokens(), "This conversation, " + text.Count(s.turns+1, "turn", "turns") + ": " + all.tokens(),
		waiting(which, last, all), costUnknown,
	}
}

// costUnknown stands for the cost: a table of prices would be out of date.
const costUnknown = "Cost unknown: no provider states it with its answers"

func (e expense) tokens() string {
	if e.Usage == (llm.Usage{}) {
		return "no tokens reported"
	}
	return fmt.Sprintf("%s tokens in%s, %s out%s", display.Thousands(e.Input), share(e.CacheRead, "cached", e.CacheWrite, "written to the cache"),
		display.Thousands(e.Output), share(e.Reasoning, "reasoning", 0, ""))
}

// waiting says how long and how often the conversation waited for the provider.
func waiting(which string, last, all expense) string {
	if all.retries == 0 && all.waited < time.Second {
		return "No waiting so far"
	}
	return "Waited in " + which + ": " + last.waits() + "; in all: " + all.waits()
}

func (e expense) waits() string {
	if e.retries == 0 && e.waited < time.Second {
		return "not at all"
	}
	return text.Passed(e.waited) + " (" + text.Count(e.retries, "retry", "retries") + ")"
}

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

func (m *model) printUsage() {
	m.clearComposer()
	m.ensureGap()
	for _, line := range m.spending.lines(time.Now()) {
		m.printWrapped(grey, "· "+line)
	}
	m.emit("")
}
