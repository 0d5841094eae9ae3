//go:build unix

package tui_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/wire"
)

// replies are what a terminal answers to queries.
var replies = map[string]string{
	"\x1b[c":          "\x1b[?62;22c",
	"\x1b[?u":         "\x1b[?0u",
	"\x1b[?2026$p":    "\x1b[?2026;2$y",
	"\x1b[?2027$p":    "\x1b[?2027;0$y",
	"\x1b]11;?\a":     "\x1b]11;rgb:0000/0000/0000\a",
	"\x1b]11;?\x1b\\": "\x1b]11;rgb:0000/0000/0000\x1b\\",
	"\x1b[6n":         "\x1b[1;1R",
}

// terminal is a pseudo-terminal in which the program runs.
type terminal struct {
	t        *testing.T
	master   *os.File
	tty      *os.File
	before   *term.State
	mu       sync.Mutex
	out      bytes.Buffer
	answered map[string]int // how often it was asked what
	mute     bool           // it answers nothing
	ended    chan error     // of Run
	cancel   context.CancelFunc
}

// startInTerminal runs the program in a pseudo-terminal; a mute one answers no queries.
func startInTerminal(t *testing.T, c tui.Config, mute bool) *terminal {
	t.Helper()
	master, tty := openPTY(t)
	before, err := term.GetState(tty.Fd())
	if err != nil {
		t.Fatalf("read settings: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &terminal{t: t, master: master, tty: tty, before: before, answered: map[string]int{}, mute: mute, ended: make(chan error, 1), cancel: cancel}
	c.In, c.Out = tty, tty
	c.Env = terminalEnv("TERM", "xterm-256color", "LANG", "C.UTF-8", "TERM_PROGRAM", "ghostty")
	c.Notify, _ = tui.ParseNotify("all")
	t.Cleanup(func() { cancel(); _ = master.Close(); _ = tty.Close() })
	go w.watch()
	go func() { w.ended <- tui.Run(ctx, c) }()
	return w
}

// openPTY opens a pseudo-terminal of 80 columns. To close its master hangs up at once: package pty leaves it in the
// blocking mode, in which a file stays open for as long as it is read.
func openPTY(t *testing.T) (master, tty *os.File) {
	t.Helper()
	blocking, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	defer blocking.Close()
	if err := pty.Setsize(blocking, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatalf("set size: %v", err)
	}
	fd, err := syscall.Dup(int(blocking.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatalf("open the master once more: %v", err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), blocking.Name()), tty
}

// watch reads the output and answers queries.
func (w *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := w.master.Read(buf)
		w.mu.Lock()
		w.out.Write(buf[:n])
		all := w.out.String()
		for asked, answer := range replies {
			for ; !w.mute && w.answered[asked] < strings.Count(all, asked); w.answered[asked]++ {
				_, _ = io.WriteString(w.master, answer)
			}
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// shows waits for a text in the output.
func (w *terminal) shows(words string) {
	w.t.Helper()
	w.until(func() bool { return strings.Contains(w.written(), words) }, words)
}

func (w *terminal) until(is func() bool, what string) {
	w.t.Helper()
	ticks, end := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer ticks.Stop()
	for !is() {
		select {
		case <-ticks.C:
		case <-end:
			w.t.Fatalf("output: got %q, want %q", w.written(), what)
		}
	}
}

func (w *terminal) written() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

func (w *terminal) types(keys string) {
	if _, err := io.WriteString(w.master, keys); err != nil {
		w.t.Errorf("type %q: %v", keys, err)
	}
}

// end waits for the end of the program.
func (w *terminal) end() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-time.After(30 * time.Second):
		w.t.Fatalf("program: got no end, want one: %q", w.written())
		return nil
	}
}

// isRestored checks that the settings and modes of the terminal are as before the
// program.
func (w *terminal) isRestored() {
	w.t.Helper()
	after, err := term.GetState(w.tty.Fd())
	if err != nil {
		w.t.Fatalf("read settings: %v", err)
	}
	if got, want := fmt.Sprintf("%+v", *after), fmt.Sprintf("%+v", *w.before); got != want {
		w.t.Errorf("settings: got %s, want %s", got, want)
	}
	if _, err := io.WriteString(w.tty, "$ "); err != nil { // the shell's
		w.t.Fatalf("print prompt: %v", err)
	}
	w.until(func() bool { return strings.HasSuffix(w.written(), "$ ") }, "$")
	for mode, on := range modesLeft(w.written()) {
		if initially := mode == "?25" || mode == "?7"; on != initially {
			w.t.Errorf("mode %s: got %v, want %v", mode, on, initially)
		}
	}
	out := w.written()
	if push, pop := strings.Count(out, "\x1b[>1u"), strings.Count(out, "\x1b[<1u")+strings.Count(out, "\x1b[<u"); push != pop {
		w.t.Errorf("keyboard modes: got %d pushed, %d popped, want as many", push, pop)
	}
}

// leavesNoInput checks that no input is left for the
// shell.
func (w *terminal) leavesNoInput() {
	w.t.Helper()
	w.types("\x04") // the end of a line that would be there
	line := make([]byte, 1024)
	if n, _ := w.tty.Read(line); n > 0 {
		w.t.Errorf("input for the shell: got %q, want none", line[:n])
	}
}

var modeSet = regexp.MustCompile(`\x1b\[(\?\d+)([hl])`)

// modesLeft returns the modes that were set, and their last value.
func modesLeft(out string) map[string]bool {
	left := map[string]bool{}
	for _, m := range modeSet.FindAllStringSubmatch(out, -1) {
		left[m[1]] = m[2] == "h"
	}
	return left
}

func TestRun_RestoresTheTerminal(t *testing.T) {
	for _, mute := range []bool{false, true} {
		w := startInTerminal(t, config(newService(t, llmtest.Says("Good day."))), mute)
		w.shows("/help")
		w.types("hello\r")
		w.shows("Good day.")
		w.types("\x04")
		if err := w.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
		w.isRestored()
		w.leavesNoInput()
		for query, want := range map[string]int{"\x1b]11;?": 1, "\x1b[6n": 0} { // the background, and not where the cursor is
			if got := strings.Count(w.written(), query); got != want {
				t.Errorf("query %q: got it %d times, want %d", query, got, want)
			}
		}
	}
}

func TestRun_RestoresTheTerminalWhenQuitAtOnce(t *testing.T) {
	w := startInTerminal(t, config(newService(t)), false)
	w.shows("\x1b[?u") // the keyboard is asked for with the first frame
	w.types("\x04")
	if err := w.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
	w.isRestored()
	w.leavesNoInput()
}

func TestRun_RestoresTheTerminalAfterCancel(t *testing.T) {
	w := startInTerminal(t, config(newService(t, llmtest.Hangs())), false)
	w.shows("/help")
	w.types("hello\r")
	w.shows("working")
	w.cancel()
	if err := w.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
	w.isRestored()
	w.leavesNoInput()
}

// The terminal closes when the program has nothing more to write.
func TestRun_EndsWhenTheTerminalCloses(t *testing.T) {
	w := startInTerminal(t, config(newService(t, llmtest.Hangs())), false)
	w.shows("/help")
	w.shows("\x1b[c") // the last query at the start
	if err := w.master.Close(); err != nil {
		t.Errorf("close the terminal: %v", err)
	}
	_ = w.end() // the error has no reader
}

// broken is a service that panics.
type broken struct {
	*service
	attach, list bool
}

func (b broken) New(ctx context.Context, with conversation.Settings) (tui.Conversation, error) {
	c, err := b.service.New(ctx, with)
	return brokenConversation{c, b}, err
}

func (b broken) List(ctx context.Context) iter.Seq2[tui.Entry, error] {
	if b.list {
		panic("the list is gone")
	}
	return b.service.List(ctx)
}

type brokenConversation struct {
	tui.Conversation
	b broken
}

func (c brokenConversation) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		if c.b.attach {
			panic("the feed is gone")
		}
		c.Conversation.Attach(ctx, after)(yield)
	}
}

func TestRun_RestoresTheTerminalAfterAPanic(t *testing.T) {
	if raceDetector {
		t.Skip("bubbletea closes its input after a panic while its reader may use it")
	}
	t.Run("in a command", func(t *testing.T) {
		c := config(newService(t))
		c.Conversations = broken{service: newService(t), list: true}
		w := startInTerminal(t, c, false)
		w.shows("\x1b[c") // the last query at the start
		w.types("/resume\r")
		if err := w.end(); err == nil || !strings.Contains(err.Error(), "the conversation is kept") {
			t.Errorf("Run: got %v, want an error that says the conversation is kept", err)
		}
		w.isRestored()
	})
	t.Run("in the program", func(t *testing.T) {
		c := config(newService(t))
		c.Models = func() []string { panic("no models") }
		w := startInTerminal(t, c, false)
		w.shows("\x1b[c") // the last query at the start
		w.types("/model \r")
		if err := w.end(); err == nil {
			t.Error("Run: got nil, want an error")
		}
		w.isRestored()
	})
	t.Run("where the conversation is followed", func(t *testing.T) {
		c := config(newService(t))
		c.Conversations = broken{service: newService(t), attach: true}
		w := startInTerminal(t, c, false)
		w.shows("\x1b[c") // the last query at the start
		w.types("hello\r")
		w.shows("Lost the conversation")
		w.types("\x04")
		if err := w.end(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run: got %v, want nil or Canceled", err)
		}
		w.isRestored()
	})
}

func TestRun_QuitsThoughTheConversationDoesNotClose(t *testing.T) {
	c := config(newService(t, llmtest.Says("Good day.")))
	c.Conversations = stuckService{newService(t, llmtest.Says("Good day."))}
	c.Resume = func(id string) string { return "resume " + id }
	w := startInTerminal(t, c, false)
	w.shows("/help")
	w.types("hello\r")
	w.shows("Good day.")
	w.types("\x04")
	if err := w.end(); err == nil || !strings.Contains(err.Error(), "the conversation is kept") {
		t.Errorf("Run: got %v, want an error that says the conversation is kept", err)
	}
	w.shows("To resume: resume conv-a")
	w.isRestored()
}
