package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// attention tracks whether the user is looking at the terminal.
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

func (a *attention) userAway() bool {
	if a.reported {
		return !a.focused
	}
	return time.Since(a.lastKey) > awayAfter
}

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

// windowTitle is the window's title; "" leaves it unchanged.
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
	if m.settings.Title != "" {
		state += printable.Truncate(m.settings.Title, maxTitle) + " - "
	}
	return m.paint.encode(state + "ridethrough")
}

// progressBar is what the task bar shows; nil shows nothing.
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

const (
	bell   = "\a"
	osc9   = "\x1b]9;%s\x1b\\"
	osc777 = "\x1b]777;notify;ridethrough;%s\x1b\\"
	osc99  = "\x1b]99;;%s\x1b\\"
)

// notificationFormat is the sequence for notifications that a terminal is known to support, or "". Multiplexers get
// none, since they would swallow it.
func notificationFormat(env func(string) string) string {
	program, kind := env("TERM_PROGRAM"), env("TERM")
	switch {
	case inMultiplexer(env):
		return ""
	case env("KITTY_WINDOW_ID") != "" || strings.Contains(kind, "kitty"):
		return osc99
	case program == "iTerm.app" || program == "WezTerm" || program == "ghostty" || strings.Contains(kind, "ghostty"):
		return osc9
	case strings.HasPrefix(kind, "foot") || strings.HasPrefix(kind, "rxvt") || program == "WarpTerminal":
		return osc777
	}
	return ""
}

func inMultiplexer(env func(string) string) bool {
	return env("TMUX") != "" || env("STY") != "" || env("ZELLIJ") != ""
}

// supportsProgress reports whether a terminal shows OSC 9;4 in its task bar. Others show it as the notification
// "4".
func supportsProgress(env func(string) string) bool {
	program := env("TERM_PROGRAM")
	return !inMultiplexer(env) && (env("WT_SESSION") != "" || env("ConEmuANSI") == "ON" || program == "ghostty" || program == "mintty")
}

// sequence notifies a user who looks elsewhere; "" does nothing.
func (n Notify) sequence(env func(string) string, text string) string {
	form := notificationFormat(env)
	switch {
	case n.Desktop && form != "":
		return fmt.Sprintf(form, strings.ReplaceAll(printable.Line(text), ";", ","))
	case n.Bell:
		return bell
	}
	return ""
}
