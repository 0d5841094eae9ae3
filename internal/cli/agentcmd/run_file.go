package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
)

// latest is the value of --continue without a conversation.
const latest = "latest"

func continueFlag(cmd *cobra.Command, to *string, which string) {
	cmd.Flags().StringVarP(to, "continue", "c", "", "continue the `CONVERSATION`, "+which+"; without a value the latest one")
	cmd.Flags().Lookup("continue").NoOptDefVal = latest
}

// isID matches what [conversation.NewID] returns.
var isID = regexp.MustCompile(`^\d{8}-\d{6}-[a-z2-7]{10}$`)

// checkContinue refuses a conversation that was given after a space, in the place of the prompt.
func checkContinue(continued string, args []string) error {
	if continued != latest || len(args) == 0 {
		return nil
	}
	if info, err := os.Stat(args[0]); err == nil && info.Mode().IsRegular() || isID.MatchString(args[0]) {
		return fmt.Errorf("--continue takes its value after an equals sign: --continue=%s", args[0])
	}
	return nil
}

type conversationFile struct {
	file      *transfer.File // nil: it is not stored
	state     turn.State     // when it was opened
	turnID    string         // of the turn in progress, or the last one; "": none
	settings  conversation.Settings
	temporary bool // the file is deleted when the turn is done
	appended  bool // to the file
}

// open opens the conversation. A file for the case of a failure is optional: without a state directory the turn
// runs without it.
func (c *runCmd) open() (*conversationFile, error) {
	name, err := c.fileName()
	if err != nil {
		return nil, err
	}
	path, _ := filepath.Abs(name)
	f := &conversationFile{
		temporary: name == "" || filepath.Dir(path) == c.savedDir(), // `run` has created it by itself
		settings:  conversation.Settings{Model: cmp.Or(c.model, c.Streams.Env("RIDETHROUGH_MODEL")), Fallback: c.fallback, System: c.system, Effort: c.effort, Agent: c.tools.agent, Dir: c.tools.dir},
	}
	id := conversation.NewID()
	if name == "" {
		if c.noSave || c.savedDir() == "" {
			return f, nil
		}
		name = filepath.Join(c.savedDir(), id+".jsonl")
	}
	if f.file, err = transfer.OpenFile(name, id); err != nil {
		return nil, command.Failed(fmt.Errorf("open conversation: %w (--no-save stores nothing)", err))
	}
	events, err := conversation.TurnEvents(f.file.Conversation().Records)
	if err != nil {
		return nil, command.Failed(errors.Join(fmt.Errorf("%s: %w", name, err), f.file.Close()))
	}
	for _, e := range events {
		f.state, f.turnID = f.state.Apply(e.Event), e.TurnID
	}
	return f, nil
}

func (c *runCmd) fileName() (string, error) {
	name := c.continued
	if name == latest {
		if name = c.latestSaved(); name == "" {
			return "", command.Failed(errors.New("no saved conversation to continue"))
		}
	}
	if name != "" {
		if _, err := os.Stat(name); err != nil {
			return "", command.Failed(err)
		}
	}
	return cmp.Or(c.save, name), nil
}

func (c *runCmd) latestSaved() (name string) {
	var at time.Time
	all, _ := filepath.Glob(filepath.Join(c.savedDir(), "*.jsonl"))
	for _, one := range all {
		if info, err := os.Stat(one); err == nil && info.ModTime().After(at) {
			name, at = one, info.ModTime()
		}
	}
	return name
}

func (c *runCmd) savedDir() string { return c.Streams.StateFile("runs") }

func (f *conversationFile) append(_ context.Context, events ...turn.Event) error {
	if f.file == nil {
		return nil
	}
	c := f.file.Conversation()
	var records []store.Record
	if len(c.Records) == 0 {
		r, err := conversation.CreatedRecord(f.settings, time.Now().UTC())
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	for _, e := range events {
		if start, ok := e.(turn.Start); ok {
			f.turnID = start.ID
		}
		now := time.Now().UTC()
		said, _ := e.(turn.UserMessage)
		files, err := conversation.ImageRecords(f.turnID, said.Images, now)
		if err != nil {
			return err
		}
		r, err := conversation.EventRecord(c.ID, f.turnID, e, now)
		if err != nil {
			return err
		}
		records = append(append(records, files...), r)
	}
	err := f.file.Append(records...)
	f.appended = f.appended || err == nil
	return err
}

func (f *conversationFile) close(done bool) string {
	if f.file == nil {
		return ""
	}
	if f.temporary && (done || len(f.file.Conversation().Records) == 0) {
		_ = f.file.Remove() // a file that stays does no harm
		return ""
	}
	_ = f.file.Close() // every record is on the disk already
	if !f.appended {
		return ""
	}
	return f.file.Name()
}

// continueCommand returns the command that continues the conversation with the same model and tools, or "".
func (c *runCmd) continueCommand() string {
	switch {
	case c.serverURL() != "" && c.continued != "" && c.ended.Status != turn.Done:
		return "ridethrough run --server " + quoted(c.serverURL()) + " --continue=" + quoted(c.continued)
	case c.saved == "" || c.completed():
		return ""
	}
	line := commandLine{"ridethrough", "run"}
	line.add("-m", c.model)
	line.add("--fallback", c.fallback...)
	line.add("--system", c.system)
	c.tools.addTo(&line)
	return line.continuing(c.saved)
}

type commandLine []string

func (l *commandLine) add(flag string, values ...string) {
	for _, value := range values {
		if value != "" {
			*l = append(*l, flag, quoted(value))
		}
	}
}

func (l commandLine) continuing(id string) string {
	return strings.Join(append(l, "--continue="+quoted(id)), " ")
}

func quoted(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"\\$`!*?[]{}()<>|&;#~=", r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (c *runCmd) input(ctx context.Context, f *conversationFile, args []string) ([]turn.Event, error) {
	text, images, err := c.prompt(ctx, args)
	switch {
	case err != nil:
		return nil, err
	case inProgress(f.state) && text == "":
		return []turn.Event{turn.Restarted{}}, nil
	case inProgress(f.state):
		return []turn.Event{turn.Restarted{}, turn.UserMessage{Text: text, Images: images}}, nil
	case text != "":
		return turn.Begin(conversation.NewID(), text, images...), nil
	case f.state.Unanswered():
		return []turn.Event{turn.Start{ID: conversation.NewID()}}, nil
	}
	return nil, errors.New("the conversation is complete; give a prompt")
}

// inProgress reports whether a turn is in progress. A failed turn is not, even if its seal is missing: the next
// turn answers its prompt.
func inProgress(s turn.State) bool {
	seal, ended := s.Next().(turn.Seal)
	return s.Next() != nil && !(ended && seal.Status == turn.Failed)
}

// unseenAnswer returns an answer that was complete when its process died, so that the user may not have seen all of
// it, or "".
func unseenAnswer(s turn.State) string {
	if _, ended := s.Next().(turn.Seal); !ended || !inProgress(s) || len(s.Messages()) == 0 {
		return ""
	}
	return s.Messages()[len(s.Messages())-1].Text()
}

func (f *conversationFile) turnOf(input []turn.Event) string {
	if len(input) > 0 {
		if start, begins := input[0].(turn.Start); begins {
			return start.ID
		}
	}
	return f.turnID
}
