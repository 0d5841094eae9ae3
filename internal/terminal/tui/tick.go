package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// tickMsg reports that time has passed.
type tickMsg struct{ n int }

// ticker is the pending tick.
type ticker struct {
	n  int
	at time.Time // zero: none is pending
}

// tick redraws the screen when its text changes by itself, and at no other time: a wait of hours
// costs one tick a minute.
func (m *model) tick() tea.Cmd {
	now := time.Now()
	after, need := m.nextChange(now)
	if !need || m.quitting {
		return nil
	}
	if at := now.Add(after); m.ticker.at.IsZero() || at.Before(m.ticker.at) {
		m.ticker.n++
		m.ticker.at = at
		n := m.ticker.n
		return tea.Tick(after, func(time.Time) tea.Msg { return tickMsg{n} })
	}
	return nil
}

// onTick redraws the screen and removes what has been shown long enough.
func (m *model) onTick(t tickMsg) tea.Cmd {
	if t.n != m.ticker.n {
		return nil
	}
	m.ticker.at = time.Time{}
	now := time.Now()
	if m.hint != "" && !now.Before(m.hintEnds) {
		m.hint = ""
	}
	m.foldFailure(false)
	return nil
}

// nextChange is how long until the text on the screen changes; false: no change is due.
func (m *model) nextChange(now time.Time) (after time.Duration, need bool) {
	soonest := func(d time.Duration) {
		if d > 0 && (!need || d < after) {
			after, need = d, true
		}
	}
	switch {
	case m.lost != nil:
		soonest(display.NextChange(m.lostDue.Sub(now)))
	case m.paused: // its line stays as it is
	case m.wait != nil:
		soonest(display.NextChange(m.wait.Due.Sub(now)))
		soonest(m.wait.urged.Add(urgedFor).Sub(now))
	case m.turn.id != "":
		worked := now.Sub(m.turn.started)
		soonest(worked.Truncate(time.Second) + time.Second - worked)
	}
	if m.hint != "" {
		soonest(m.hintEnds.Sub(now))
	}
	if m.failure != nil {
		soonest(m.failure.shownUntil.Sub(now))
	}
	return after, need
}
