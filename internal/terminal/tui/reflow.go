package tui

import (
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// reflows tells whether a terminal breaks the lines on it anew when it becomes
// narrower. Nearly all do.
func reflows(env func(string) string) bool {
	return env("XTERM_VERSION") == "" && env("STY") == "" && env("TERM") != "linux"
}

// followReflow puts the cursor where the program takes it to be after the
// terminal has become narrower and has broken lines of the view in two. Without
// that, their upper halves would be left behind with every step of a window
// that is being resized.
func (m *model) followReflow(out io.Writer, msg tea.Msg) {
	size, ok := msg.(tea.WindowSizeMsg)
	if !ok || size.Width >= m.width || size.Width < 1 || !reflows(m.Env) {
		return
	}
	v := m.View()
	if v.Cursor == nil {
		return
	}
	if more := rowsMore(v, size.Width); more > 0 {
		_, _ = io.WriteString(out, ansi.CursorUp(more)+ansi.CursorHorizontalAbsolute(min(v.Cursor.X, size.Width-1)+1)) // what cannot be written is seen soon enough
	}
}

// rowsMore gives how many rows more a view takes above its cursor where there
// are only so many columns.
func rowsMore(v tea.View, width int) int {
	more := v.Cursor.X / width
	for i, line := range strings.Split(v.Content, "\n") {
		if i == v.Cursor.Y {
			break
		}
		more += max(0, lipgloss.Width(line)-1) / width
	}
	return more
}
