package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/turn"
)

// Config is the configuration of Run. In, Out and Conversations are required.
type Config struct {
	Conversations Conversations
	Conversation  Conversation          // the first one, which Run closes; nil: the first prompt creates one
	Settings      conversation.Settings // of new conversations
	Pick          bool                  // the user chooses the first one from a list
	Prompt        string                // sent first; "": nothing

	In    io.Reader
	Out   io.Writer
	Env   func(string) string // nil: os.Getenv
	Plain bool                // lines are only appended; see [Interactive]

	Dir     string                 // whose files a prompt attaches behind an @; "": the working directory
	Models  func() []string        // completions of /model; nil: none
	Resume  func(id string) string // the command that resumes a conversation; nil: not shown
	History string                 // the file of the prompt history; "": it is not kept
	Notify  Notify                 // how a user who looks elsewhere is notified
}

// Failure is the error of Run in plain mode when the last turn failed: a script sees only the exit code.
type Failure struct{ Cause turn.Error }

// Error returns the message of the turn's error.
func (f *Failure) Error() string { return f.Cause.Message }

// Notify selects how a user who looks elsewhere is notified. The zero Notify selects nothing.
type Notify struct {
	Desktop  bool // a notification of the terminal: OSC 9, 777 or 99
	Bell     bool // BEL, where the terminal has no notifications
	Progress bool // in the task bar: OSC 9;4
	Title    bool // the window's title
}

// ParseNotify reads a list such as "bell,title". Both "all" and "" select everything, "none" selects nothing.
func ParseNotify(list string) (n Notify, err error) {
	for _, word := range strings.Split(cmp.Or(list, "all"), ",") {
		switch strings.TrimSpace(word) {
		case "all":
			n = Notify{true, true, true, true}
		case "none":
			n = Notify{}
		case "desktop":
			n.Desktop = true
		case "bell":
			n.Bell = true
		case "progress":
			n.Progress = true
		case "title":
			n.Title = true
		default:
			return n, fmt.Errorf("unknown notification %q: want all, none, desktop, bell, progress or title", word)
		}
	}
	return n, nil
}

// Interactive reports whether in and out are a terminal whose last lines can be redrawn. ACCESSIBLE
// turns that off, since screen readers read appended lines only.
func Interactive(in io.Reader, out io.Writer, env func(string) string) bool {
	accessible := env("ACCESSIBLE")
	screenReader := accessible != "" && accessible != "0" && accessible != "false"
	return isTerminal(in) && isTerminal(out) && !slices.Contains([]string{"", "dumb"}, env("TERM")) && !screenReader
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

var errPanic = errors.New("the terminal program failed; the conversation is kept")

// Run shows a conversation and takes input until the user quits, the input ends or ctx is done. In every case it
// restores the terminal and keeps the conversation. The end of ctx is not an error.
func Run(ctx context.Context, c Config) error {
	if c.Env == nil {
		c.Env = os.Getenv
	}
	if c.Models == nil {
		c.Models = func() []string { return nil }
	}
	if c.Resume == nil {
		c.Resume = func(string) string { return "" }
	}
	if c.Plain {
		return runPlain(ctx, c)
	}
	return runLive(ctx, c)
}
