package tui

import (
	"fmt"
	"strings"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// The ways in which terminals take notices.
const (
	bell   = "\a"
	osc9   = "\x1b]9;%s\x1b\\"
	osc777 = "\x1b]777;notify;ridethrough;%s\x1b\\"
	osc99  = "\x1b]99;;%s\x1b\\"
)

// noticeForm gives the sequence for notices that a terminal is known to take;
// "": none is known, as inside of a multiplexer, which would swallow it.
func noticeForm(env func(string) string) string {
	program, kind := env("TERM_PROGRAM"), env("TERM")
	switch {
	case multiplexed(env):
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

func multiplexed(env func(string) string) bool {
	return env("TMUX") != "" || env("STY") != "" || env("ZELLIJ") != ""
}

// progressKnown tells whether a terminal shows OSC 9;4 in its task bar. Others
// take it for a notice that says "4".
func progressKnown(env func(string) string) bool {
	program := env("TERM_PROGRAM")
	return !multiplexed(env) && (env("WT_SESSION") != "" || env("ConEmuANSI") == "ON" || program == "ghostty" || program == "mintty")
}

// notice gives what tells whoever looks elsewhere; "": nothing is to.
func (n Notify) notice(env func(string) string, words string) string {
	form := noticeForm(env)
	switch {
	case n.Desktop && form != "":
		return fmt.Sprintf(form, strings.ReplaceAll(display.OneLine(words), ";", ","))
	case n.Bell:
		return bell
	}
	return ""
}
