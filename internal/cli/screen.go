package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/ridethrough/ridethrough/internal/notice"
)

// screen writes lines that stay and, on a terminal, one line at the bottom
// that is replaced in place. Without a terminal the replaced line is left out:
// what is written only ever grows. Its methods may run concurrently.
type screen struct {
	mu     sync.Mutex
	w      io.Writer
	live   bool // w is a terminal that can replace a line
	color  bool
	ascii  bool   // its letters are ASCII's
	status string // the line at the bottom; "": none
	open   bool   // the last line that stays has no end yet
	err    error  // the first that a write brought
	failed func() // called with that; nil: nobody
}

// newScreen looks at the terminal and at what the environment says about it.
func newScreen(s Streams, plain bool) *screen {
	live := isTerminal(s.Out) && !plain && s.Env("TERM") != "dumb"
	return &screen{w: s.Out, live: live, color: live && s.Env("NO_COLOR") == "", ascii: notice.OnlyASCII(s.Env)}
}

// letters gives a line of ours in the letters that there are.
func (s *screen) letters(line string) string {
	if !s.ascii {
		return line
	}
	return notice.ASCII(line)
}

// endless is the width of what is no terminal.
const endless = math.MaxInt

// columns gives the width of the terminal, where lines are to fit.
func (s *screen) columns() int {
	if !s.live {
		return endless
	}
	if f, ok := s.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 { // some do not know theirs
			return width
		}
	}
	return 80
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
	s.status = ""
	s.open = !strings.HasSuffix(text, "\n")
	s.put(text)
}

// set replaces the status line; "" removes it.
func (s *screen) set(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status = s.letters(status)
	if status == s.status {
		return
	}
	s.wipe()
	s.status = status
	s.draw()
}

func (s *screen) wipe() {
	if s.live && s.status != "" {
		s.put(erase)
	}
}

func (s *screen) draw() {
	if s.live && s.status != "" {
		s.put(s.paint(amber, s.status))
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
