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
	urged time.Time // when a try in it was asked for that is in progress; zero: none is
}

// urgedFor is how long a try that was asked for is shown at most: a gateway of an older version does not say that
// it has failed.
const urgedFor = 30 * time.Second

// at returns the wait as it is shown at now.
func (w *shownWait) at(now time.Time) policy.Wait {
	shown := w.Wait
	if now.Before(w.urged.Add(urgedFor)) && now.Before(w.Due) {
		shown.Due = now
	}
	return shown
}

// maxTrail is how many failures the details list.
const maxTrail = 5

// shownFailure is a failed turn that is shown for a while.
type shownFailure struct {
	turn.Error
	shownUntil time.Time
}

// failureDuration is how long a failure is shown in full at least.
const failureDuration = 10 * time.Second

// dueAfter returns the time after d on the wall clock, which runs while a laptop sleeps.
func dueAfter(d time.Duration) time.Time { return time.Now().Add(d).Round(0) }

// onProviderEvent handles an event of a provider call.
func (m *model) onProviderEvent(id string, e turn.Event) tea.Cmd {
	switch e := e.(type) {
	case turn.Retry:
		m.onRetry(id, e)
	case turn.Waiting:
		m.onWaiting(e)
	case turn.Recovered:
		m.wait, m.turn.failing = nil, false
		m.printWrapped(m.paint.green, display.Recovered(e.Retries, e.Waited))
		return m.notifyUser("The provider is back")
	case turn.MCPRetry:
		m.printWrapped(m.paint.amber, display.MCPRetry(e))
	case turn.MCPRecovered:
		m.printWrapped(m.paint.green, display.Recovered(e.Retries, e.Waited))
	case turn.Switched:
		m.wait = nil
		m.printWrapped(m.paint.amber, display.Switched(e))
	case turn.Error:
		m.onError(e)
	}
	return nil
}

// onWaiting shows how long a wait still takes.
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
	if m.turn.id == "" {
		m.turn = turnState{id: id, started: time.Now()}
	}
	w := &shownWait{Wait: e.Wait}
	w.Due = dueAfter(e.Verdict.Wait)
	reason := printable.Line(e.Fault.Redacted())
	if m.wait != nil && w.Retry() > m.wait.Retry() {
		w.trail = m.wait.trail
		if slower := display.Slower(m.wait.Wait, w.Wait, time.Now()); slower != "" {
			m.printWrapped(m.paint.amber, slower)
		}
	}
	if w.Retry() == 1 || m.wait == nil && len(w.trail) == 0 {
		m.printWrapped(m.paint.amber, display.FirstFailure(e.Fault))
	}
	w.trail = append(w.trail, time.Now().Format("15:04:05")+" "+reason)
	if extra := len(w.trail) - maxTrail; extra > 0 {
		w.trail = w.trail[extra:]
	}
	m.wait, m.turn.failing = w, true
}

// printWrapped prints a line of ours, on several rows if necessary.
func (m *model) printWrapped(color func(string) string, text string) {
	m.emit(m.wrapped(color, text)...)
}

// onError shows why a turn failed.
func (m *model) onError(e turn.Error) {
	m.wait = nil
	m.finishAnswer()
	m.turn.hopeless, m.turn.ofWindow = !display.MayPass(e) && !e.OfImages(), display.OfWindow(e)
	m.failure = &shownFailure{Error: e, shownUntil: time.Now().Add(failureDuration)}
	if m.replay.printing {
		m.foldFailure(true)
	}
}

// foldFailure prints a failure to the scrollback once it has been shown long enough, or at once if
// now is set.
func (m *model) foldFailure(now bool) {
	if m.failure == nil || !now && time.Now().Before(m.failure.shownUntil) {
		return
	}
	m.emit(m.failureLines()...)
	m.failure = nil
}

// failureText is what is said of a failure: what happened, its details, that nothing is lost, and
// how to resume.
func (m *model) failureText(e turn.Error) []string {
	lines := []string{display.Headline(e, time.Now())}
	for _, line := range display.Details(e) {
		lines = append(lines, "  "+line)
	}
	if asks := display.LongerWait(e, ""); asks != "" && !display.OfWindow(e) {
		lines = append(lines, "  "+asks)
	}
	lines = append(lines, "  "+kept(e, "w", "m", "r"))
	if m.conv != nil {
		if command := m.Resume(m.conv.ID()); command != "" {
			lines = append(lines, "  To resume: "+printable.Text(command))
		}
	}
	return lines
}

// kept says that a failure has lost nothing, and what tries again if that can help, waits until a usage window opens
// and asks another model.
func kept(e turn.Error, wait, other, again string) string {
	const text = "Nothing is lost: the conversation is kept."
	switch {
	case e.OfImages():
		return text + " " + other + " changes the model, " + again + " tries again."
	case !display.MayPass(e):
		return text
	case display.OfWindow(e):
		return text + " " + wait + " waits for it, " + other + " changes the model, " + again + " tries again."
	}
	return text + " " + again + " tries again."
}

// printError prints the failure of an operation.
func (m *model) printError(text string) { m.printWrapped(m.paint.red, "× "+printable.Line(text)) }
