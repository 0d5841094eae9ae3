package tui

import (
	"fmt"
	"strings"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Escape sequences for notifications.
const (
	bell   = "\a"
	osc9   = "\x1b]9;%s\x1b\\"
	osc777 = "\x1b]777;notify;ridethrough;%s\x1b\\"
	osc99  = "\x1b]99;;%s\x1b\\"
)

// notificationFormat is the sequence for notifications that a terminal is known to support. It is ""
// if none is known, as inside a multiplexer, which would swallow it.
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

// supportsProgress reports whether a terminal shows OSC 9;4 in its task bar. Others take it for a
// notification that says "4".
func supportsProgress(env func(string) string) bool {
	program := env("TERM_PROGRAM")
	return !inMultiplexer(env) && (env("WT_SESSION") != "" || env("ConEmuANSI") == "ON" || program == "ghostty" || program == "mintty")
}

// sequence is what notifies a user who looks elsewhere; "" for nothing.
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
