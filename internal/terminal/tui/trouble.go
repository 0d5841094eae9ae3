package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/turn"
)

// waiting is a wait for a provider.
type waiting struct {
	display.Wait
	due   time.Time
	now   bool // somebody has said that it is to be tried at once
	trail []string
}

// trailBound is how many tries the details tell of.
const trailBound = 5

// failure is a turn that has failed, as it is shown for a while.
type failure struct {
	turn.Error
	until time.Time // it is shown in full until then
}

// failureTime is how long a failure is shown in full at least.
const failureTime = 10 * time.Second

// due gives the moment after a time, as the wall clock has it: that one goes on
// while a laptop sleeps.
func due(after time.Duration) time.Time { return time.Now().Add(after).Round(0) }

// providers takes in what happens to providers.
func (m *model) providers(id string, e turn.Event) tea.Cmd {
	switch e := e.(type) {
	case turn.Retry:
		m.retry(id, e)
	case turn.Waiting:
		if m.wait != nil {
			m.wait.due = due(e.Remaining)
		}
	case turn.Recovered:
		m.wait = nil
		m.emit(m.paint.green(display.Recovered(e.Retries, e.Waited)))
		return m.attract("The provider answers again")
	case turn.Switched:
		m.wait = nil
		m.print1(m.paint.amber, display.Switched(e))
	case turn.Error:
		m.fail(e)
	}
	return nil
}

// retry begins a wait. The first failure of a call is kept; of the others only
// the last is to be seen.
func (m *model) retry(id string, e turn.Retry) {
	if m.turn.id == "" {
		m.turn = turnState{id: id, began: time.Now()}
	}
	w := &waiting{Wait: display.Of(e), due: due(e.Delay)}
	said := display.OneLine(e.Fault.Redacted())
	if m.wait != nil && w.Attempt > m.wait.Attempt {
		w.trail = m.wait.trail
	}
	if w.Attempt == 1 || m.wait == nil && len(w.trail) == 0 {
		m.print1(m.paint.amber, "▲ "+said)
	}
	w.trail = append(w.trail, time.Now().Format("15:04:05")+" "+said)
	if extra := len(w.trail) - trailBound; extra > 0 {
		w.trail = w.trail[extra:]
	}
	m.wait = w
}

// print1 prints a line of ours, on several where it does not fit.
func (m *model) print1(color func(string) string, text string) {
	for _, line := range wrapped(m.paint.letters(text), m.width) {
		m.emit(color(line))
	}
}

// fail shows what a turn has failed of.
func (m *model) fail(e turn.Error) {
	m.wait = nil
	m.endAnswer()
	m.failed = &failure{Error: e, until: time.Now().Add(failureTime)}
	if m.past.tells {
		m.fold(true)
	}
}

// fold keeps a failure in the scrollback once it has been to be seen for long
// enough; now: at once.
func (m *model) fold(now bool) {
	if m.failed == nil || !now && time.Now().Before(m.failed.until) {
		return
	}
	for i, line := range m.failure(m.failed.Error) {
		color := m.paint.faint
		if i == 0 {
			color = m.paint.red
		}
		m.print1(color, line)
	}
	m.failed = nil
}

// failure gives what is said of a failure: what happened, and below it what
// failed, how long it was tried, the request, and that nothing is lost.
func (m *model) failure(e turn.Error) []string {
	lines := []string{display.Headline(e)}
	for _, line := range display.Details(e) {
		lines = append(lines, "  "+line)
	}
	lines = append(lines, "  Nothing is lost: the conversation is kept. r tries again.")
	if m.talk != nil {
		if command := m.Resume(m.talk.ID()); command != "" {
			lines = append(lines, "  To resume: "+command)
		}
	}
	return lines
}

// trouble prints what has gone wrong with what was asked for.
func (m *model) trouble(words string) { m.print1(m.paint.red, "× "+display.OneLine(words)) }
