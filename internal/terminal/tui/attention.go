package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// attention is whether somebody is looking.
type attention struct {
	reports bool      // the terminal tells
	focused bool      // as it has told last
	seen    time.Time // when a key was pressed last
}

// Whoever has not pressed a key for awayTime is taken to be elsewhere where the
// terminal does not tell. A turn that takes longer than attractTime is worth a
// notice.
const (
	awayTime    = time.Minute
	attractTime = 30 * time.Second
)

func (a *attention) focus(focused bool) { a.reports, a.focused = true, focused }

// elsewhere tells whether nobody is looking.
func (a *attention) elsewhere() bool {
	if a.reports {
		return !a.focused
	}
	return time.Since(a.seen) > awayTime
}

// attract tells whoever looks elsewhere that something has happened here.
func (m *model) attract(words string) tea.Cmd {
	if m.past.tells || !m.away.elsewhere() {
		return nil
	}
	if m.session.Title != "" {
		words += ": " + m.session.Title
	}
	if told := m.Notify.notice(m.Env, words); told != "" {
		return tea.Raw(told)
	}
	return nil
}

// title gives the window's title; "": it is not to be changed.
func (m *model) title() string {
	if !m.Notify.Title {
		return ""
	}
	state := ""
	switch {
	case len(m.asking) > 0:
		state = "? "
	case m.wait != nil || m.lost != nil:
		state = "▲ "
	case m.turn.id != "":
		state = "… "
	}
	return m.paint.letters(state + titleOf(m.session.Title))
}

// progress gives what the task bar shows; nil: nothing.
func (m *model) progress() *tea.ProgressBar {
	switch {
	case !m.Notify.Progress || !progressKnown(m.Env):
		return nil
	case m.wait != nil || m.lost != nil:
		return tea.NewProgressBar(tea.ProgressBarWarning, 100)
	case m.failed != nil:
		return tea.NewProgressBar(tea.ProgressBarError, 100)
	case m.turn.id != "":
		return tea.NewProgressBar(tea.ProgressBarIndeterminate, 0)
	}
	return nil
}
