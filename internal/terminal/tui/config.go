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

// Config says what Run works with.
type Config struct {
	Conversations Conversations
	Conversation  Conversation          // the conversation to begin with; nil: one is made when something is said. Run closes it
	Settings      conversation.Settings // of conversations that are made
	Prompt        string                // said at the beginning; "": nothing

	In    io.Reader
	Out   io.Writer
	Env   func(string) string // nil: os.Getenv
	Plain bool                // only lines are appended; see [Interactive]

	Approvals <-chan Approval        // tool calls that somebody has to allow; nil: there are none
	Models    func() []string        // names for the completion of /model; nil: none are known
	Resume    func(id string) string // the command that resumes a conversation; nil: it is not said
	History   string                 // the file of prompts that were typed; "": they are not kept
	Notify    Notify                 // how whoever looks elsewhere is told
}

// Failure is what Run gives where lines are only appended and the last turn has
// failed: nobody is there who could have seen it.
type Failure struct{ Cause turn.Error }

// Error gives what the turn has failed of.
func (f *Failure) Error() string { return f.Cause.Message }

// Notify are the ways in which whoever looks elsewhere is told that a wait is
// over. The zero Notify is none of them.
type Notify struct {
	Desktop  bool // a notice of the terminal's: OSC 9, 777 or 99
	Bell     bool // BEL, where the terminal has no notices
	Progress bool // in the task bar: OSC 9;4
	Title    bool // the window's title
}

// ParseNotify reads a list such as "bell,title". "all", as well as "", is
// everything, and "none" nothing.
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
			return n, fmt.Errorf("%q is none of all, none, desktop, bell, progress and title", word)
		}
	}
	return n, nil
}

// Interactive tells whether a screen can be shown there whose last lines change. A
// screen reader reads what is appended, so whoever sets ACCESSIBLE gets that.
func Interactive(in io.Reader, out io.Writer, env func(string) string) bool {
	accessible := env("ACCESSIBLE")
	told := accessible != "" && accessible != "0" && accessible != "false"
	return isTerminal(in) && isTerminal(out) && !slices.Contains([]string{"", "dumb"}, env("TERM")) && !told
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// errPanic: the program had an error that nobody has thought of.
var errPanic = errors.New("the terminal has failed; the conversation is kept")

// Run has a conversation with whoever is at In and Out, until they leave or ctx
// ends. Whatever ends it, the terminal is as it was, and the conversation is
// kept. The end of ctx is no error.
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
		return plain(ctx, c)
	}
	return live(ctx, c)
}
