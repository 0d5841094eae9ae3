package tui

import "charm.land/lipgloss/v2"

// reflows reports whether a terminal rewraps its lines when it becomes narrower. Nearly all do.
func reflows(env func(string) string) bool {
	return env("XTERM_VERSION") == "" && env("STY") == "" && env("TERM") != "linux"
}

// rowCount is how many rows a line takes.
func rowCount(line string, width int) int { return 1 + max(0, lipgloss.Width(line)-1)/width }
