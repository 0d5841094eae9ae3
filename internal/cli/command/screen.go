package command

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
)

// Screen appends lines and, on a terminal, keeps status rows below them that are redrawn in place. Elsewhere
// there are no status rows. Its methods may run concurrently.
type Screen struct {
	mu      sync.Mutex
	w       io.Writer
	Live    bool // w is a terminal that can redraw lines
	color   bool
	ASCII   bool   // only ASCII is written
	status  []Row  // the status rows
	Open    bool   // the last line is incomplete
	err     error  // the first error of a write
	OnError func() // called at the first error; nil: not called
}

// Row is a status row.
type Row struct{ Color, Text string }

// NewScreen returns a screen on s.Out, as far as that and the environment permit.
func NewScreen(s Streams, plain bool) *Screen {
	live := IsTerminal(s.Out) && !plain && s.Env("TERM") != "dumb"
	return &Screen{w: s.Out, Live: live, color: live && s.Env("NO_COLOR") == "", ASCII: printable.OnlyASCII(s.Env)}
}

// NewLiveScreen returns a screen for a terminal with colors, whatever w is.
func NewLiveScreen(w io.Writer) *Screen { return &Screen{w: w, Live: true, color: true} }

func (s *Screen) letters(line string) string {
	if !s.ASCII {
		return line
	}
	return printable.ASCII(line)
}

// Endless is the width of a stream that is no terminal.
const Endless = math.MaxInt

// Columns returns the width that lines should fit.
func (s *Screen) Columns() int {
	if !s.Live {
		return Endless
	}
	width, _ := s.Size()
	return width
}

// Size returns the terminal's columns and lines.
func (s *Screen) Size() (width, height int) {
	if f, ok := s.w.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 { // some terminals do not know theirs
			return width, height
		}
	}
	return 80, 24
}

// Colors of lines. Amber is for waiting, red only for the end.
const (
	Amber = "\x1b[33m"
	Green = "\x1b[32m"
	Red   = "\x1b[31m"
	Faint = "\x1b[2m"
	reset = "\x1b[0m"
	erase = "\r\x1b[2K"
)

// Print appends a line above the status rows.
func (s *Screen) Print(color, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.Open {
		s.put("\n")
	}
	s.Open = false
	s.put(s.paint(color, s.letters(fmt.Sprintf(format, args...))) + "\n")
	s.draw()
}

// Write appends a part of a line, and removes the status rows.
func (s *Screen) Write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.status = nil
	s.Open = !strings.HasSuffix(text, "\n")
	s.put(text)
}

// Redraw calls draw ten times a second, until stop is called or ctx ends.
func (s *Screen) Redraw(ctx context.Context, draw func()) (stop func()) {
	return Every(ctx, 100*time.Millisecond, draw)
}

// Status replaces the status rows by one; "" removes them.
func (s *Screen) Status(status string) {
	if status == "" {
		s.Rows()
		return
	}
	s.Rows(Row{Amber, status})
}

// Rows replaces the status rows. It truncates text beyond the width, since a wrapped row could not be redrawn.
func (s *Screen) Rows(rows ...Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width := s.Columns()
	for i := range rows {
		text := []rune(s.letters(rows[i].Text)) // ASCII may take more letters
		rows[i].Text = string(text[:min(len(text), width-1)])
	}
	if slices.Equal(rows, s.status) {
		return
	}
	s.wipe()
	s.status = rows
	s.draw()
}

func (s *Screen) wipe() {
	for i := range s.status {
		if !s.Live {
			return
		}
		if i > 0 {
			s.put("\x1b[1A") // a line up
		}
		s.put(erase)
	}
}

func (s *Screen) draw() {
	for i, r := range s.status {
		if !s.Live {
			return
		}
		if i > 0 {
			s.put("\n")
		}
		s.put(s.paint(r.Color, r.Text))
	}
}

func (s *Screen) put(text string) {
	if _, err := io.WriteString(s.w, text); err != nil && s.err == nil {
		s.err = err
		if s.OnError != nil {
			s.OnError()
		}
	}
}

// Err returns the first error of a write.
func (s *Screen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Screen) paint(color, text string) string {
	if !s.color || color == "" {
		return text
	}
	return color + text + reset
}

// Wrap appends a text in lines that fit the width.
func (s *Screen) Wrap(color, words string) {
	if words == "" {
		return
	}
	for line := range strings.SplitSeq(text.Wrap(words, s.Columns()), "\n") {
		s.Print(color, "%s", line)
	}
}
