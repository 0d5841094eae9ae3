package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// ticked says that time has passed.
type ticked struct{ n int }

// clock is the tick that is under way.
type clock struct {
	n  int
	at time.Time // zero: none is
}

// tick sees to it that the screen is drawn when the words on it change by
// themselves, and at no other time: a wait of hours costs a tick a minute.
func (m *model) tick() tea.Cmd {
	now := time.Now()
	after, need := m.nextChange(now)
	if !need || m.leaving {
		return nil
	}
	if at := now.Add(after); m.clock.at.IsZero() || at.Before(m.clock.at) {
		m.clock.n++
		m.clock.at = at
		n := m.clock.n
		return tea.Tick(after, func(time.Time) tea.Msg { return ticked{n} })
	}
	return nil
}

// ticked draws anew, and takes away what has been shown for long enough.
func (m *model) ticked(t ticked) tea.Cmd {
	if t.n != m.clock.n {
		return nil
	}
	m.clock.at = time.Time{}
	now := time.Now()
	if m.hint != "" && !now.Before(m.hintEnds) {
		m.hint = ""
	}
	m.fold(false)
	return nil
}

// nextChange gives how long it is until words on the screen change or may be
// printed; false: they do not.
func (m *model) nextChange(now time.Time) (after time.Duration, need bool) {
	soonest := func(d time.Duration) {
		if d > 0 && (!need || d < after) {
			after, need = d, true
		}
	}
	switch {
	case m.lost != nil:
		soonest(display.NextChange(m.lostDue.Sub(now)))
	case m.wait != nil:
		soonest(display.NextChange(m.wait.due.Sub(now)))
	case m.turn.id != "":
		worked := now.Sub(m.turn.began)
		soonest(worked.Truncate(time.Second) + time.Second - worked)
	}
	if len(m.out) > 0 {
		soonest(m.calm.Sub(now))
	}
	if m.hint != "" {
		soonest(m.hintEnds.Sub(now))
	}
	if m.failed != nil {
		soonest(m.failed.until.Sub(now))
	}
	return after, need
}
