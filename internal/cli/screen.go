package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// screen writes lines that stay and, on a terminal, some at the bottom that are
// replaced in place. Without a terminal those are left out: what is written only
// ever grows. Its methods may run concurrently.
type screen struct {
	mu     sync.Mutex
	w      io.Writer
	live   bool // w is a terminal that can replace a line
	color  bool
	ascii  bool   // its letters are ASCII's
	status []row  // the lines at the bottom
	open   bool   // the last line that stays has no end yet
	err    error  // the first that a write brought
	failed func() // called with that; nil: nobody
}

// row is a line at the bottom, without its end.
type row struct{ color, text string }

// newScreen looks at the terminal and at what the environment says about it.
func newScreen(s Streams, plain bool) *screen {
	live := isTerminal(s.Out) && !plain && s.Env("TERM") != "dumb"
	return &screen{w: s.Out, live: live, color: live && s.Env("NO_COLOR") == "", ascii: display.OnlyASCII(s.Env)}
}

// letters gives a line of ours in the letters that there are.
func (s *screen) letters(line string) string {
	if !s.ascii {
		return line
	}
	return display.ASCII(line)
}

// endless is the width of what is no terminal.
const endless = math.MaxInt

// columns gives the width of the terminal, where lines are to fit.
func (s *screen) columns() int {
	if !s.live {
		return endless
	}
	width, _ := s.size()
	return width
}

// size gives the terminal's columns and lines.
func (s *screen) size() (width, height int) {
	if f, ok := s.w.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 { // some do not know theirs
			return width, height
		}
	}
	return 80, 24
}

// colors of lines. Waiting is amber and never looks like an error.
const (
	amber = "\x1b[33m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	faint = "\x1b[2m"
	reset = "\x1b[0m"
	erase = "\r\x1b[2K"
)

// print writes lines that stay, above the status line.
func (s *screen) print(color, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.open {
		s.put("\n")
	}
	s.open = false
	s.put(s.paint(color, s.letters(fmt.Sprintf(format, args...))) + "\n")
	s.draw()
}

// write writes part of a line that stays.
func (s *screen) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.status = nil
	s.open = !strings.HasSuffix(text, "\n")
	s.put(text)
}

// set replaces the lines at the bottom by one; "" removes them.
func (s *screen) set(status string) {
	if status == "" {
		s.rows()
		return
	}
	s.rows(row{amber, status})
}

// rows replaces the lines at the bottom. What does not fit the columns is cut
// off: a line that took two could not be replaced.
func (s *screen) rows(rows ...row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width := s.columns()
	for i := range rows {
		text := []rune(s.letters(rows[i].text)) // there may be more of those letters
		rows[i].text = string(text[:min(len(text), width-1)])
	}
	if slices.Equal(rows, s.status) {
		return
	}
	s.wipe()
	s.status = rows
	s.draw()
}

func (s *screen) wipe() {
	for i := range s.status {
		if !s.live {
			return
		}
		if i > 0 {
			s.put("\x1b[1A") // a line up
		}
		s.put(erase)
	}
}

func (s *screen) draw() {
	for i, r := range s.status {
		if !s.live {
			return
		}
		if i > 0 {
			s.put("\n")
		}
		s.put(s.paint(r.color, r.text))
	}
}

// put writes bytes and remembers that they could not be written.
func (s *screen) put(text string) {
	if _, err := io.WriteString(s.w, text); err != nil && s.err == nil {
		s.err = err
		if s.failed != nil {
			s.failed()
		}
	}
}

// broken gives the first error that writing has brought.
func (s *screen) broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *screen) paint(color, text string) string {
	if !s.color || color == "" {
		return text
	}
	return color + text + reset
}

// tell writes a text in lines that fit; without a terminal in one.
func (s *screen) tell(color, text string) {
	for _, line := range fold(text, s.columns()) {
		s.print(color, "%s", line)
	}
}

// fold breaks a text into lines of at most that width, between its words.
func fold(text string, width int) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last < 0 || utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return lines
}
