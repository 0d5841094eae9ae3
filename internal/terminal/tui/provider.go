package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// shownWait is a wait for a provider, with the failures before it.
type shownWait struct {
	policy.Wait
	trail []string
	urged time.Time // when the try in progress was requested; zero: no such try
}

// urgedFor is how long a requested try is shown at most: a gateway of an older version does not report its failure.
const urgedFor = 30 * time.Second

// at returns the wait as it is shown at now.
func (w *shownWait) at(now time.Time) policy.Wait {
	shown := w.Wait
	if now.Before(w.urged.Add(urgedFor)) && now.Before(w.Due) {
		shown.Due = now
	}
	return shown
}

const maxTrail = 5

type shownFailure struct {
	turn.Error
	shownUntil time.Time
}

// failureDuration is how long a failure is shown in full at least.
const failureDuration = 10 * time.Second

// dueAfter returns the time after d on the wall clock, which runs while a laptop sleeps.
func dueAfter(d time.Duration) time.Time { return time.Now().Add(d).Round(0) }

func (m *model) onProviderEvent(id string, e turn.Event) tea.Cmd {
	if color, line := lineOf(e); line != "" {
		m.printWrapped(color, line)
	}
	switch e := e.(type) {
	case turn.Retry:
		m.onRetry(id, e)
	case turn.Waiting:
		m.onWaiting(e)
	case turn.Recovered:
		m.wait, m.turn.failing = nil, false
		return m.notifyUser("The provider is back")
	case turn.Switched:
		m.wait = nil
	case turn.Error:
		m.onError(e)
	}
	return nil
}

func (m *model) onWaiting(e turn.Waiting) {
	if m.wait == nil {
		return
	}
	if !m.wait.urged.IsZero() {
		m.showHint("It failed again; no attempt was used")
	}
	m.wait.Due, m.wait.urged = dueAfter(e.Remaining), time.Time{}
}

// onRetry starts a wait. The first failure of a call is printed; of the others only the last is shown.
func (m *model) onRetry(id string, e turn.Retry) {
	m.begin(id)
	w := &shownWait{Wait: e.Wait}
	w.Due = dueAfter(e.Verdict.Wait)
	reason := printable.Line(e.Fault.Redacted())
	if m.wait != nil && w.Retry() > m.wait.Retry() {
		w.trail = m.wait.trail
		if slower := display.Slower(m.wait.Wait, w.Wait, time.Now()); slower != "" {
			m.printWrapped(amber, slower)
		}
	}
	if w.Retry() == 1 || m.wait == nil && len(w.trail) == 0 {
		m.printWrapped(amber, display.FirstFailure(e.Fault))
	}
	w.trail = append(w.trail, time.Now().Format("15:04:05")+" "+reason)
	if extra := len(w.trail) - maxTrail; extra > 0 {
		w.trail = w.trail[extra:]
	}
	m.wait, m.turn.failing = w, true
}

func (m *model) printWrapped(color ink, text string) {
	m.emit(m.wrapped(color, text)...)
}

func (m *model) onError(e turn.Error) {
	m.wait = nil
	m.finishAnswer()
	m.turn.hopeless, m.turn.ofWindow = !display.MayPass(e) && !e.OfImages(), display.OfWindow(e)
	m.failure = &shownFailure{Error: e, shownUntil: time.Now().Add(failureDuration)}
	if m.replay.printing {
		m.foldFailure(true)
	}
}

// foldFailure prints a failure to the scrollback once it has been shown long enough, or at once if now is set.
func (m *model) foldFailure(now bool) {
	if m.failure == nil || !now && time.Now().Before(m.failure.shownUntil) {
		return
	}
	m.emit(m.failureLines()...)
	m.failure = nil
}

func (m *model) printError(text string) { m.printWrapped(red, "× "+printable.Line(text)) }
