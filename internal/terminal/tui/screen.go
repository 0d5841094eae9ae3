package tui

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// screen draws the view as the last lines of a terminal, and prints above it. What is printed and what is drawn is
// one write, so that no state between them is ever on the terminal, however slow that is: the terminal scrolls what
// was printed away, and nothing of the view. See docs/adr/0036-inline-terminal-drawn-by-one-write.md.
//
// It is the output of bubbletea, which sets the terminal's modes, and whose own view is empty.
type screen struct {
	term.File
	profile colorprofile.Profile

	mu       sync.Mutex
	above    strings.Builder // what is to be printed
	want     drawing         // what is to be on the terminal
	has      drawing         // what is there
	extra    int             // rows that the lines above the cursor take, because the terminal is narrower now
	synced   bool            // the terminal can show a write all at once
	released bool            // it is not ours at the moment
}

// drawing is a view as lines, each on one row of the terminal.
type drawing struct {
	lines []string
	x, y  int // the cursor
}

// Write writes bubbletea's output: modes, queries and notifications. It writes them where bubbletea's empty view
// is, in the first row of ours. A reset of the paste mode returns the terminal to the shell; setting the mode takes
// it back.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := bytes.Contains(b, []byte(ansi.SetModeBracketedPaste))
	returned := bytes.Contains(b, []byte(ansi.ResetModeBracketedPaste))
	sent := withoutDrawing.Replace(string(b))
	switch {
	case returned:
		sent = s.top() + eraseBelow + sent
		s.has, s.extra = drawing{}, 0
	case taken || !s.released:
		sent = s.top() + sent + s.frame()
	}
	s.released = returned || s.released && !taken
	if _, err := s.File.Write([]byte(sent)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// withoutDrawing removes bubbletea's drawing of nothing.
var withoutDrawing = strings.NewReplacer(ansi.EraseScreenBelow, "", ansi.SetModeSynchronizedOutput, "", ansi.ResetModeSynchronizedOutput, "")

func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		s.above.WriteString(line + ansi.EraseLineRight + "\r\n")
	}
}

// draw draws a view below the text to be printed.
func (s *screen) draw(v tea.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want = drawingOf(v)
	if s.released {
		return
	}
	sent := s.changes()
	if sent == "" {
		return
	}
	if s.synced {
		sent = ansi.SetModeSynchronizedOutput + sent + ansi.ResetModeSynchronizedOutput
	} else if v.Cursor != nil { // else it would be seen running
		sent = ansi.HideCursor + sent + ansi.ShowCursor
	}
	_, _ = s.File.Write([]byte(sent)) // a terminal that is gone ends the input
}

func drawingOf(v tea.View) (d drawing) {
	if v.Content != "" {
		d.lines = strings.Split(v.Content, "\n")
		for i, line := range d.lines {
			d.lines[i] = strings.TrimRight(line, " ")
		}
	}
	if v.Cursor != nil {
		d.x, d.y = v.Cursor.X, min(v.Cursor.Y, max(0, len(d.lines)-1))
	}
	return d
}

// narrowed records that the terminal has become narrower and has rewrapped the lines of the view.
func (s *screen) narrowed(width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = s.has.rowsAboveCursor(width) - s.has.y
}

// rowsAboveCursor is how many rows a view takes above its cursor at a width.
func (d drawing) rowsAboveCursor(width int) int {
	rows := d.x / width
	for _, line := range d.lines[:min(d.y, len(d.lines))] {
		rows += 1 + max(0, lipgloss.Width(line)-1)/width
	}
	return rows
}

// reflows reports whether a terminal rewraps its lines when it becomes narrower. Nearly all do.
func reflows(env func(string) string) bool {
	return env("XTERM_VERSION") == "" && env("STY") == "" && env("TERM") != "linux"
}

func (s *screen) top() string { return "\r" + up(s.has.y+s.extra) }

// eraseBelow erases from the beginning of a row on, and that row separately: some terminals (tmux) keep in the
// scrollback what is erased from the first row on.
var eraseBelow = ansi.SaveCursor + ansi.EraseLineRight + ansi.CursorDown(1) + ansi.EraseScreenBelow + ansi.RestoreCursor

// changes draws what differs from the terminal; "" if nothing does.
func (s *screen) changes() string {
	switch {
	case s.extra > 0: // erased, or a terminal that becomes wider joins the rows again
		return s.top() + eraseBelow + s.frame()
	case s.above.Len() > 0 || len(s.want.lines) != len(s.has.lines):
		return s.top() + s.frame()
	case slices.Equal(s.want.lines, s.has.lines) && s.want.x == s.has.x && s.want.y == s.has.y:
		return ""
	}
	var b strings.Builder
	b.WriteString(noWrap)
	row := s.has.y
	for i, line := range s.want.lines {
		if line != s.has.lines[i] {
			b.WriteString("\r" + move(i-row) + s.colored(line) + ansi.EraseLineRight)
			row = i
		}
	}
	b.WriteString(wrapAgain)
	s.has = s.want
	b.WriteString(s.has.cursorFrom(row))
	return b.String()
}

// frame prints and draws everything from the beginning of the view on.
func (s *screen) frame() string {
	var b strings.Builder
	b.WriteString(s.colored(s.above.String()))
	s.above.Reset()
	b.WriteString(noWrap)
	for i, line := range s.want.lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(s.colored(line) + ansi.EraseLineRight)
	}
	if len(s.want.lines) == 0 {
		b.WriteString(eraseBelow)
	} else {
		b.WriteString(ansi.EraseScreenBelow)
	}
	b.WriteString(wrapAgain)
	s.has, s.extra = s.want, 0
	b.WriteString(s.has.cursorFrom(max(0, len(s.has.lines)-1)))
	return b.String()
}

// A line of the view takes one row even if the terminal considers its letters wider than we do.
var (
	noWrap    = ansi.ResetModeAutoWrap
	wrapAgain = ansi.SetModeAutoWrap
)

// cursorFrom moves the cursor from a row of the view to its place.
func (d drawing) cursorFrom(row int) string {
	seq := "\r" + move(d.y-row)
	if d.x > 0 {
		seq += ansi.CursorForward(d.x)
	}
	return seq
}

// move moves the cursor down by a number of rows, or up if it is negative.
func move(rows int) string {
	if rows > 0 {
		return ansi.CursorDown(rows)
	}
	return up(-rows)
}

func up(rows int) string {
	if rows <= 0 {
		return ""
	}
	return ansi.CursorUp(rows)
}

// colored returns a text in colors that the terminal has.
func (s *screen) colored(text string) string {
	if s.profile >= colorprofile.ANSI256 {
		return text
	}
	var b strings.Builder
	w := colorprofile.Writer{Forward: &b, Profile: s.profile}
	_, _ = w.WriteString(text) // a builder takes everything
	return b.String()
}

type onScreen struct {
	*model
	screen *screen
}

func (o onScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width < o.width && msg.Width > 0 && reflows(o.Env) {
			o.screen.narrowed(msg.Width)
		}
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
			o.screen.sync()
		}
	}
	_, cmd := o.model.Update(msg)
	return o, cmd
}

// sync makes the terminal show each write at once.
func (s *screen) sync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = true
}

func (o onScreen) View() tea.View {
	v := o.model.View()
	o.screen.draw(v)
	v.Content = ""
	if v.Cursor != nil {
		at := *v.Cursor
		at.X, at.Y = 0, 0
		v.Cursor = &at
	}
	return v
}
