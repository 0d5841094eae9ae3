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
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
)

// latest is the value of --continue without a conversation.
const latest = "latest"

// continueFlag adds the flag that names the conversation to continue.
func continueFlag(cmd *cobra.Command, to *string, which string) {
	cmd.Flags().StringVarP(to, "continue", "c", "", "continue the `CONVERSATION`, "+which+"; without a value the latest one")
	cmd.Flags().Lookup("continue").NoOptDefVal = latest
}

// isID matches what [conversation.NewID] returns.
var isID = regexp.MustCompile(`^\d{8}-\d{6}-[a-z2-7]{10}$`)

// checkContinue refuses a conversation that stands where the prompt belongs, behind a space.
func checkContinue(continued string, args []string) error {
	if continued != latest || len(args) == 0 {
		return nil
	}
	if info, err := os.Stat(args[0]); err == nil && info.Mode().IsRegular() || isID.MatchString(args[0]) {
		return fmt.Errorf("--continue takes its value after an equals sign: --continue=%s", args[0])
	}
	return nil
}

// conversationFile is the conversation of a run.
type conversationFile struct {
	file      *archive.File // nil: it is not stored
	state     turn.State    // when it was opened
	turnID    string        // of the turn in progress, or the last one; "": none
	settings  conversation.Settings
	temporary bool // the file is deleted when the turn is done
	appended  bool // to the file
}

// open opens the conversation. A file for the case of a failure is optional: the
// turn runs without it where the user has no state directory.
func (c *runCmd) open() (*conversationFile, error) {
	name, err := c.fileName()
	if err != nil {
		return nil, err
	}
	f := &conversationFile{
		temporary: name == "" || c.isTemporary(name),
		settings:  conversation.Settings{Model: cmp.Or(c.model, c.streams.Env("RIDETHROUGH_MODEL")), Fallback: c.fallback, System: c.system, Effort: c.effort, Agent: c.tools.agent, Dir: c.tools.dir},
	}
	id := conversation.NewID()
	if name == "" {
		if c.noSave || c.savedDir() == "" {
			return f, nil
		}
		name = filepath.Join(c.savedDir(), id+".jsonl")
	}
	if f.file, err = archive.OpenFile(name, id); err != nil {
		return nil, command.Failed(fmt.Errorf("open conversation: %w (--no-save stores nothing)", err))
	}
	if err := f.replay(); err != nil {
		return nil, command.Failed(errors.Join(fmt.Errorf("%s: %w", name, err), f.file.Close()))
	}
	return f, nil
}

// fileName returns the file that flags name; "": none.
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

// latestSaved returns the file of the turn that was saved last; "": there is none.
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

// isTemporary reports whether a file is one that `run` has created by itself.
func (c *runCmd) isTemporary(name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && filepath.Dir(path) == c.savedDir()
}

// savedDir returns the directory for unfinished turns; "": there is none.
func (c *runCmd) savedDir() string { return c.streams.StateFile("runs") }

// replay applies the events in the file.
func (f *conversationFile) replay() error {
	events, err := conversation.TurnEvents(f.file.Conversation().Records)
	for _, e := range events {
		f.state, f.turnID = f.state.Apply(e.Event), e.TurnID
	}
	return err
}

// append stores events.
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

// close returns the file that has the turn; "": none stays.
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

// continueCommand returns the command that continues the conversation with the
// same model and tools; "": there is none.
func (c *runCmd) continueCommand() string {
	switch {
	case c.serverURL() != "" && c.continued != "" && c.ended.Status != turn.Done:
		return "ridethrough run --server " + quoted(c.serverURL()) + " --continue=" + quoted(c.continued)
	case c.saved == "" || c.completed():
		return ""
	}
	args := []string{"ridethrough", "run"}
	for _, f := range []struct {
		name   string
		values []string
	}{
		{"-m", []string{c.model}},
		{"--fallback", c.fallback},
		{"--system", []string{c.system}},
		{"--agent", []string{c.tools.agent}},
		{"--dir", []string{c.tools.dir}},
		{"--files", []string{c.tools.files}},
		{"--mcp", c.tools.mcp},
	} {
		for _, value := range f.values {
			if value != "" {
				args = append(args, f.name, quoted(value))
			}
		}
	}
	return strings.Join(append(args, "--continue="+quoted(c.saved)), " ")
}

// quoted quotes a word for a shell, if it needs that.
func quoted(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"\\$`!*?[]{}()<>|&;#~=", r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// input returns the events that the run starts with.
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

// inProgress reports whether a turn is in progress. A turn that has failed is
// not, even if its seal is missing: its prompt is left for the next turn.
func inProgress(s turn.State) bool {
	seal, ended := s.Next().(turn.Seal)
	return s.Next() != nil && !(ended && seal.Status == turn.Failed)
}

// unseenAnswer returns an answer that was complete when its process died, so that
// the user may not have seen all of it; "": there is none.
func unseenAnswer(s turn.State) string {
	if _, ended := s.Next().(turn.Seal); !ended || !inProgress(s) || len(s.Messages()) == 0 {
		return ""
	}
	return s.Messages()[len(s.Messages())-1].Text()
}

// turnOf returns the id of the turn that an input begins, or of the one in progress.
func (f *conversationFile) turnOf(input []turn.Event) string {
	if len(input) > 0 {
		if start, begins := input[0].(turn.Start); begins {
			return start.ID
		}
	}
	return f.turnID
}
