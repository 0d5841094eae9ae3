package tui

import (
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// reflows reports whether a terminal rewraps its lines when it becomes narrower. Nearly all do.
func reflows(env func(string) string) bool {
	return env("XTERM_VERSION") == "" && env("STY") == "" && env("TERM") != "linux"
}

// followReflow moves the cursor to where the program expects it after a narrower terminal has
// rewrapped the view. Otherwise every step of a resize would leave half lines behind.
func (m *model) followReflow(out io.Writer, msg tea.Msg) {
	size, ok := msg.(tea.WindowSizeMsg)
	if !ok || size.Width >= m.width || size.Width < 1 || !reflows(m.Env) {
		return
	}
	v := m.View()
	if v.Cursor == nil {
		return
	}
	if more := extraRows(v, size.Width); more > 0 {
		column := min(v.Cursor.X, size.Width-1) + 1
		_, _ = io.WriteString(out, ansi.CursorUp(more)+ansi.CursorHorizontalAbsolute(column)) // the next frame has the error
	}
}

// extraRows is how many more rows a view takes above its cursor at a width.
func extraRows(v tea.View, width int) int {
	more := v.Cursor.X / width
	for i, line := range strings.Split(v.Content, "\n") {
		if i == v.Cursor.Y {
			break
		}
		more += max(0, lipgloss.Width(line)-1) / width
	}
	return more
}
