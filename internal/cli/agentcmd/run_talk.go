package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/journal"
	"github.com/ridethrough/ridethrough/turn"
)

// promptBound is the longest prompt, in bytes: that of a request.
const promptBound = 32 << 20

// talk is the conversation that a run belongs to.
type talk struct {
	file  *journal.File // nil: it is kept nowhere
	state turn.State    // as it was when it was opened
	ours  bool          // the file is only there for the case that something happens
	kept  bool          // something was added
}

// Open opens the conversation. Where it is kept only in case something
// happens, and cannot be, the turn goes on without.
func (c *runCmd) open() (*talk, error) {
	name := cmp.Or(c.journal, c.goOn)
	if c.goOn != "" {
		if _, err := os.Stat(c.goOn); err != nil {
			return nil, command.Failed(err)
		}
	}
	t := &talk{ours: name == "" || c.made(name)}
	if name == "" {
		if name = c.folder(); c.noSave || name == "" {
			return t, nil
		}
		name = filepath.Join(name, conversation.NewID()+".jsonl")
	}
	file, err := journal.Open(name)
	if err != nil {
		return nil, command.Failed(fmt.Errorf("the turn could not be saved: %w (--no-save keeps nothing)", err))
	}
	t.file, t.state = file, turn.Replay(file.Events()...)
	return t, nil
}

// made tells whether a file is one that a run has made for itself.
func (c *runCmd) made(name string) bool {
	whole, err := filepath.Abs(name)
	return err == nil && filepath.Dir(whole) == c.folder()
}

// folder gives the folder for turns that did not come to their end; "": there
// is no place for one.
func (c *runCmd) folder() string {
	return c.s.StateFile("runs")
}

// turn gives the id of the turn that is under way, or was; "": none was.
func (t *talk) turn() string {
	if t.file == nil {
		return ""
	}
	return t.file.Turn()
}

// keep makes events last.
func (t *talk) keep(ctx context.Context, events ...turn.Event) error {
	if t.file == nil {
		return nil
	}
	err := t.file.Append(ctx, events...)
	t.kept = t.kept || err == nil
	return err
}

// close gives the file with which one can go on; "": nobody needs to.
func (t *talk) close(done bool) string {
	if t.file == nil {
		return ""
	}
	if t.ours && (done || !t.kept && len(t.file.Events()) == 0) {
		_ = t.file.Remove() // what is left in that folder harms nobody
		return ""
	}
	_ = t.file.Close()
	if done || !t.kept {
		return ""
	}
	return t.file.Name()
}

// howToGoOn gives the command with which one goes on, with what the model had
// to work with; "": there is none.
func (c *runCmd) howToGoOn() string {
	switch {
	case c.atServer() != "" && c.talkID != "" && c.ended.Status != turn.Done:
		return "ridethrough run --server " + quoted(c.atServer()) + " --conversation " + quoted(c.talkID)
	case c.saved == "":
		return ""
	}
	words := []string{"ridethrough", "run"}
	for _, f := range []struct {
		name   string
		values []string
	}{
		{"-m", []string{c.model}},
		{"--fallback", c.fallback},
		{"--system", []string{c.system}},
		{"--files", []string{c.tools.files}},
		{"--mcp", c.tools.mcp},
		{"--continue", []string{c.saved}},
	} {
		for _, value := range f.values {
			if value != "" {
				words = append(words, f.name, quoted(value))
			}
		}
	}
	return strings.Join(words, " ")
}

// quoted gives a word as a shell reads it.
func quoted(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"\\$`!*?[]{}()<>|&;#~=", r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// input gives the events with which the run begins.
func (c *runCmd) input(ctx context.Context, t *talk, args []string) ([]turn.Event, error) {
	text, err := c.prompt(ctx, args, c.goOn != "")
	switch {
	case err != nil:
		return nil, err
	case goesOn(t.state) && text == "":
		return []turn.Event{turn.Restarted{}}, nil
	case goesOn(t.state):
		return []turn.Event{turn.Restarted{}, turn.UserMessage{Text: text}}, nil
	case text != "":
		return turn.Begin(conversation.NewID(), text), nil
	case t.state.Unanswered():
		return []turn.Event{turn.Start{ID: conversation.NewID()}}, nil
	}
	return nil, errors.New("nothing is left to answer there; give a prompt")
}

// goesOn tells whether a turn is under way. Of one that has failed only the
// seal is missing: what it has not answered is for the next.
func goesOn(s turn.State) bool {
	seal, ended := s.Next().(turn.Seal)
	return s.Next() != nil && !(ended && seal.Status == turn.Failed)
}

// unseen gives an answer that was whole as its process died: whether anybody
// has seen all of it, nobody knows.
func unseen(s turn.State) string {
	if _, ended := s.Next().(turn.Seal); !ended || !goesOn(s) || len(s.Messages()) == 0 {
		return ""
	}
	return s.Messages()[len(s.Messages())-1].Text()
}

// prompt gives what the user says: the arguments, and below them what comes on
// standard input if one of them is "-", or if there are none and somebody has
// connected it to something. Otherwise it is not touched: where nobody ever
// closes it, reading it would never end.
func (c *runCmd) prompt(ctx context.Context, args []string, optional bool) (string, error) {
	var words []string
	piped := len(args) == 0 && !optional && !command.IsTerminal(c.s.In)
	for _, a := range args {
		if a == "-" {
			piped = true
		} else {
			words = append(words, a)
		}
	}
	text := strings.TrimSpace(strings.Join(words, " "))
	if piped {
		more, err := c.standardInput(ctx)
		if err != nil {
			return "", err
		}
		text = strings.TrimSpace(text + "\n\n" + more)
	}
	if text == "" && !optional {
		return "", errors.New("there is no prompt; give it as an argument or on standard input")
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// standardInput reads what comes on standard input, until ctx ends: whoever
// connects it to what never ends can still leave.
func (c *runCmd) standardInput(ctx context.Context) (string, error) {
	var text []byte
	var err error
	read := make(chan struct{})
	go func() { // nothing else ends it; the process may do so before
		defer close(read)
		text, err = io.ReadAll(io.LimitReader(c.s.In, promptBound+1))
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return "", command.Failed(context.Cause(ctx))
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrClosed):
		return "", command.Failed(fmt.Errorf("reading standard input: %w", err))
	case len(text) > promptBound:
		return "", command.Failed(fmt.Errorf("standard input is longer than %d MiB", promptBound>>20))
	}
	return string(text), nil
}
