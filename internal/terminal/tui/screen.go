package tui

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// screen draws the view as the last lines of a terminal, and prints above it. What is printed and what is drawn is
// one write, so that no state between them is ever on the terminal, however slow that is: the terminal scrolls what
// was printed away, and nothing of the view (ADR 62).
//
// It is the output of bubbletea, which sets the terminal's modes, and whose own view is empty.
type screen struct {
	out     term.File
	profile colorprofile.Profile

	mu       sync.Mutex
	above    strings.Builder // what is to be printed
	want     drawing         // what is to be on the terminal
	has      drawing         // what is there
	extra    int             // rows that the lines above the cursor take, because the terminal is narrower now
	synced   bool            // the terminal shows a write at once if it is told to
	released bool            // it is not ours at the moment
}

// drawing is a view as lines, each of one row of the terminal.
type drawing struct {
	lines []string
	x, y  int // the cursor
}

// Read implements term.File.
func (s *screen) Read(b []byte) (int, error) { return s.out.Read(b) }

// Close implements term.File.
func (s *screen) Close() error { return s.out.Close() }

// Fd implements term.File.
func (s *screen) Fd() uintptr { return s.out.Fd() }

// Write writes what bubbletea sends: modes, queries and notifications. It sends them where its empty view is, in the
// first row of ours. A reset of the paste mode hands the terminal back, and the mode takes it again.
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
	if _, err := s.out.Write([]byte(sent)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// withoutDrawing removes what bubbletea sends to draw nothing.
var withoutDrawing = strings.NewReplacer(ansi.EraseScreenBelow, "", ansi.SetModeSynchronizedOutput, "", ansi.ResetModeSynchronizedOutput, "")

// print prints a text above the next view.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		s.above.WriteString(line + ansi.EraseLineRight + "\r\n")
	}
}

// draw draws a view, below what is to be printed.
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
	_, _ = s.out.Write([]byte(sent)) // a terminal that is gone ends the input
}

// drawingOf returns a view as it is drawn.
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

// narrowed notes that the terminal has become narrower and has rewrapped the lines of the view.
func (s *screen) narrowed(width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = s.has.rowsAboveCursor(width) - s.has.y
}

// rowsAboveCursor is how many rows a view takes above its cursor at a width.
func (d drawing) rowsAboveCursor(width int) int {
	rows := d.x / width
	for _, line := range d.lines[:min(d.y, len(d.lines))] {
		rows += rowCount(line, width)
	}
	return rows
}

// top moves the cursor to the beginning of the view.
func (s *screen) top() string { return "\r" + up(s.has.y+s.extra) }

// eraseBelow erases from the beginning of a row on, and that row by itself: what is erased from the beginning of the
// window on, some terminals (tmux) keep in the scrollback.
var eraseBelow = ansi.SaveCursor + ansi.EraseLineRight + ansi.CursorDown(1) + ansi.EraseScreenBelow + ansi.RestoreCursor

// changes draws what is not on the terminal; "": all is.
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

// A line of the view takes one row also where the terminal takes its letters for wider than we do.
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

// move moves the cursor down by so many rows, or up.
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

// onScreen is the model as bubbletea runs it: its view is drawn by the screen.
type onScreen struct {
	*model
	screen *screen
}

// Update handles a message.
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

// sync has the terminal show each write at once.
func (s *screen) sync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = true
}

// View draws the view, and returns the terminal's modes that belong to it.
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
