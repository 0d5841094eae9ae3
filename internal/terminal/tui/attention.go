package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// attention is whether the user is looking at the terminal.
type attention struct {
	reported bool      // the terminal reports its focus
	focused  bool      // what it reported last
	lastKey  time.Time // when a key was last pressed
}

// Where the terminal does not report its focus, a user who has pressed no key for awayAfter counts as away.
// A turn that takes longer than longTurn is worth a notification.
const (
	awayAfter = time.Minute
	longTurn  = 30 * time.Second
)

func (a *attention) focus(focused bool) { a.reported, a.focused = true, focused }

// userAway reports whether the user is looking elsewhere.
func (a *attention) userAway() bool {
	if a.reported {
		return !a.focused
	}
	return time.Since(a.lastKey) > awayAfter
}

// notifyUser notifies a user who is looking elsewhere.
func (m *model) notifyUser(text string) tea.Cmd {
	if m.replay.printing || !m.attention.userAway() {
		return nil
	}
	if m.settings.Title != "" {
		text += ": " + m.settings.Title
	}
	if seq := m.Notify.sequence(m.Env, text); seq != "" {
		return tea.Raw(seq)
	}
	return nil
}

// windowTitle is the window's title; "" leaves it as it is.
func (m *model) windowTitle() string {
	if !m.Notify.Title {
		return ""
	}
	state := ""
	switch {
	case m.question.open():
		state = "? "
	case m.wait != nil || m.lost != nil:
		state = "▲ "
	case m.turn.id != "":
		state = "… "
	}
	return m.paint.encode(state + windowTitleOf(m.settings.Title))
}

// progressBar is what the task bar shows; nil for nothing.
func (m *model) progressBar() *tea.ProgressBar {
	switch {
	case !m.Notify.Progress || !supportsProgress(m.Env):
		return nil
	case m.wait != nil || m.lost != nil:
		return tea.NewProgressBar(tea.ProgressBarWarning, 100)
	case m.failure != nil:
		return tea.NewProgressBar(tea.ProgressBarError, 100)
	case m.turn.id != "":
		return tea.NewProgressBar(tea.ProgressBarIndeterminate, 0)
	}
	return nil
}
