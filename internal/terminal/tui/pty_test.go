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
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/wire"
)

// answers are what a terminal answers to what it is asked.
var answers = map[string]string{
	"\x1b[c":          "\x1b[?62;22c",
	"\x1b[?u":         "\x1b[?0u",
	"\x1b[?2026$p":    "\x1b[?2026;2$y",
	"\x1b[?2027$p":    "\x1b[?2027;0$y",
	"\x1b]11;?\a":     "\x1b]11;rgb:0000/0000/0000\a",
	"\x1b]11;?\x1b\\": "\x1b]11;rgb:0000/0000/0000\x1b\\",
	"\x1b[6n":         "\x1b[1;1R",
}

// terminal is a pseudo-terminal with somebody in front of it.
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

// sit has the program run in a pseudo-terminal.
func sit(t *testing.T, c tui.Config, mute bool) *terminal {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(tty.Fd())
	if err != nil {
		t.Fatal(err)
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

// watch reads what is written and answers what is asked.
func (w *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := w.master.Read(buf)
		w.mu.Lock()
		w.out.Write(buf[:n])
		all := w.out.String()
		for asked, answer := range answers {
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

// shows waits for words to be written.
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
			w.t.Fatalf("there is no %q in %q", what, w.written())
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
		w.t.Error(err)
	}
}

// endParagraph waits for the end of the program.
func (w *terminal) end() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-time.After(30 * time.Second):
		w.t.Fatalf("it does not end: %q", w.written())
		return nil
	}
}

// isAsItWas checks that the terminal is as it was before: its settings and its
// modes.
func (w *terminal) isAsItWas() {
	w.t.Helper()
	after, err := term.GetState(w.tty.Fd())
	if err != nil {
		w.t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", *after), fmt.Sprintf("%+v", *w.before); got != want {
		w.t.Errorf("the settings are %s, and were %s", got, want)
	}
	if _, err := io.WriteString(w.tty, "$ "); err != nil { // the shell's
		w.t.Fatal(err)
	}
	w.until(func() bool { return strings.HasSuffix(w.written(), "$ ") }, "$")
	for mode, on := range modesLeft(w.written()) {
		if on != (mode == "?25") {
			w.t.Errorf("mode %s is left %v", mode, on)
		}
	}
	out := w.written()
	if push, pop := strings.Count(out, "\x1b[>1u"), strings.Count(out, "\x1b[<1u")+strings.Count(out, "\x1b[<u"); push != pop {
		w.t.Errorf("the keyboard's mode was pushed %d times and popped %d times", push, pop)
	}
}

// leavesNothingToRead checks that nothing waits to be read that nobody has
// typed.
func (w *terminal) leavesNothingToRead() {
	w.t.Helper()
	w.types("\x04") // the end of a line that would be there
	line := make([]byte, 1024)
	if n, _ := w.tty.Read(line); n > 0 {
		w.t.Errorf("a shell would read %q", line[:n])
	}
}

var modeSet = regexp.MustCompile(`\x1b\[(\?\d+)([hl])`)

// modesLeft gives the modes that were set, and how they were left.
func modesLeft(out string) map[string]bool {
	left := map[string]bool{}
	for _, m := range modeSet.FindAllStringSubmatch(out, -1) {
		left[m[1]] = m[2] == "h"
	}
	return left
}

func TestTheTerminalIsAsItWasAfterAConversation(t *testing.T) {
	for _, mute := range []bool{false, true} {
		w := sit(t, config(newHouse(t, llmtest.Says("Good day."))), mute)
		w.shows("/help")
		w.types("hello\r")
		w.shows("Good day.")
		w.types("\x04")
		if err := w.end(); err != nil {
			t.Error(err)
		}
		w.isAsItWas()
		w.leavesNothingToRead()
		for _, asked := range []string{"\x1b]11;?", "\x1b[6n"} {
			if strings.Contains(w.written(), asked) {
				t.Errorf("it asks for %q", asked)
			}
		}
	}
}

func TestWhoeverLeavesAtOnceLeavesNothingBehind(t *testing.T) {
	w := sit(t, config(newHouse(t)), false)
	w.shows("\x1b[?u") // the keyboard is asked for with the first frame
	w.types("\x04")
	if err := w.end(); err != nil {
		t.Error(err)
	}
	w.isAsItWas()
	w.leavesNothingToRead()
}

func TestASignalLeavesTheTerminalAsItWas(t *testing.T) {
	w := sit(t, config(newHouse(t, llmtest.Hangs())), false)
	w.shows("/help")
	w.types("hello\r")
	w.shows("working")
	w.cancel()
	if err := w.end(); err != nil {
		t.Error(err)
	}
	w.isAsItWas()
	w.leavesNothingToRead()
}

func TestAHangupEndsTheProgram(t *testing.T) {
	w := sit(t, config(newHouse(t, llmtest.Hangs())), false)
	w.shows("/help")
	_ = w.master.Close()
	_ = w.end() // whatever it is, nobody is there to read it
}

// broken has conversations in which something panics.
type broken struct {
	*house
	attach, list bool
}

func (b broken) New(ctx context.Context, s conversation.Settings) (tui.Conversation, error) {
	t, err := b.house.New(ctx, s)
	return brokenTalk{t, b}, err
}

func (b broken) List(ctx context.Context) iter.Seq2[tui.Entry, error] {
	if b.list {
		panic("the list is gone")
	}
	return b.house.List(ctx)
}

type brokenTalk struct {
	tui.Conversation
	b broken
}

func (t brokenTalk) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		if t.b.attach {
			panic("the feed is gone")
		}
		t.Conversation.Attach(ctx, after)(yield)
	}
}

func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	t.Run("in a command", func(t *testing.T) {
		c := config(newHouse(t))
		c.Conversations = broken{house: newHouse(t), list: true}
		w := sit(t, c, false)
		w.shows("/help")
		w.types("/resume \r")
		if err := w.end(); err == nil || !strings.Contains(err.Error(), "the conversation is kept") {
			t.Errorf("got %v", err)
		}
		w.isAsItWas()
	})
	t.Run("in the program", func(t *testing.T) {
		c := config(newHouse(t))
		c.Models = func() []string { panic("no models") }
		w := sit(t, c, false)
		w.shows("/help")
		w.types("/model \r")
		if err := w.end(); err == nil {
			t.Error("nobody is told")
		}
		w.isAsItWas()
	})
	t.Run("where the conversation is followed", func(t *testing.T) {
		c := config(newHouse(t))
		c.Conversations = broken{house: newHouse(t), attach: true}
		w := sit(t, c, false)
		w.shows("/help")
		w.types("hello\r")
		w.shows("Lost the conversation")
		w.types("\x04")
		if err := w.end(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		w.isAsItWas()
	})
}

func TestWhatDoesNotEndKeepsNobodyFromLeaving(t *testing.T) {
	c := config(newHouse(t, llmtest.Says("Good day.")))
	c.Conversations = stuckHouse{newHouse(t, llmtest.Says("Good day."))}
	c.Resume = func(id string) string { return "resume " + id }
	w := sit(t, c, false)
	w.shows("/help")
	w.types("hello\r")
	w.shows("Good day.")
	w.types("\x04")
	if err := w.end(); err == nil || !strings.Contains(err.Error(), "the conversation is kept") {
		t.Errorf("got %v", err)
	}
	w.shows("To resume: resume talk-a")
	w.isAsItWas()
}
