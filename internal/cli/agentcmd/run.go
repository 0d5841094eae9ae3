// Package agentcmd has the commands that ask models: chat, run and council. It
// also adds conversations to what `serve` serves.
package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/turn"
)

func Run(s command.Streams) *cobra.Command {
	c := &runCmd{streams: s}
	cmd := &cobra.Command{
		Use:   "run [PROMPT]",
		Short: "Have an agent answer one prompt, through whatever outage there is",
		Long: "run asks a model, and has it use the tools that it is given, until it has answered. The answer\n" +
			"goes to standard output; what happens on the way goes to standard error. Without a prompt it is\n" +
			"read from standard input, and an argument - stands for what comes there.\n\n" +
			"Keys and addresses are in the variables that the providers' own tools read: ANTHROPIC_API_KEY,\n" +
			"ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL, GOOGLE_API_KEY, OLLAMA_HOST and so on.\n\n" +
			"The exit code is 0 where the model has answered, 1 where the turn failed, 2 for wrong usage, 75\n" +
			"where the provider stayed down or the account is spent, 77 for credentials, 78 for the\n" +
			"configuration, 130 after Ctrl+C and 143 after SIGTERM. A turn that did not come to its end is\n" +
			"saved, and can be gone on with.",
		Example: "  ridethrough run -m anthropic/claude-opus-4-5 \"Why is the sky blue?\"\n" +
			"  git diff | ridethrough run -m openai/gpt-5 --policy patient --max-wait 8h \"Review this.\" -\n" +
			"  ridethrough run -m ollama/qwen3 --files . --json \"What does this program do?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			c.settings = configflags.Flags{Command: cmd, Streams: s}
			return c.finish(c.run(cmd.Context(), args))
		},
	}
	c.flags(cmd)
	cmd.SetFlagErrorFunc(c.flagError)
	return cmd
}

// flagError ends a command of which a flag cannot be read: once events are
// wanted, the last one tells of that as well.
func (c *runCmd) flagError(_ *cobra.Command, err error) error {
	if !c.json {
		return err
	}
	c.view = c.newView(func() {})
	return c.finish(err)
}

// runCmd is what `run` was asked for.
type runCmd struct {
	streams  command.Streams
	settings configflags.Flags

	modelFlags
	maxWait   time.Duration
	maxTokens int
	whole     bool

	tools                  toolFlags
	json, plain, reasoning bool
	save, continued        string
	noSave                 bool
	server                 string

	view  view
	ended turn.Sealed // how the turn has ended; zero: it has not
	cause turn.Error  // what it failed of
	saved string      // the file that it can be gone on with; "": there is none
}

// modelFlags is what a model is asked with.
type modelFlags struct {
	model, system, effort string
	fallback              []string
	patience              time.Duration
}

// AddAll adds the flags for it.
func (c *modelFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "the model that is asked, as PROVIDER/MODEL [RIDETHROUGH_MODEL]")
	f.StringArrayVar(&c.fallback, "fallback", nil, "a model that takes over when the one before stays down; repeatable")
	f.DurationVar(&c.patience, "patience", 0, "how long faults may last before a fallback takes over; 0: not at all")
	f.String("policy", "interactive", "when to try again: a preset, one of the configuration, none, or a file that holds one [RIDETHROUGH_POLICY]")
	f.StringVar(&c.system, "system", "", "system prompt, or @FILE")
	f.StringVar(&c.effort, "effort", "", "how hard the model should think: low, medium or high; the default is its own")
}

// AddAll adds the command's flags.
func (c *runCmd) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.modelFlags.flags(cmd)
	f.DurationVar(&c.maxWait, "max-wait", maxWait, "how long to wait in all; 0: as long as the policy says [RIDETHROUGH_MAX_WAIT]")
	f.IntVar(&c.maxTokens, "max-tokens", 0, "the longest answer, in tokens; 0: what is usual")
	f.BoolVar(&c.whole, "whole", false, "ask for answers in one piece, without streaming")
	c.tools.flags(cmd)
	f.BoolVar(&c.json, "json", false, "write events to standard output, a line of JSON each; the last one is the end")
	f.BoolVar(&c.plain, "plain", false, "append lines only, replace none")
	f.BoolVar(&c.reasoning, "reasoning", false, "show on standard error what the model thinks")
	f.StringVar(&c.save, "save", "", "store the conversation in `FILE`, continuing it if it exists")
	continueFlag(cmd, &c.continued, "the file of a saved or exported one, or the id of one at --server")
	f.BoolVar(&c.noSave, "no-save", false, "keep nothing on disk")
	f.StringVar(&c.server, "server", "", "URL of a running `ridethrough serve` that has the turn and keeps it, such as http://127.0.0.1:8484 [RIDETHROUGH_SERVER]")
	f.String("log", "", "log from this level on: debug, info, warn or error; the default is not to")
	c.configFlag(cmd)
}

// configFlag adds the flag for the file with policies.
func (c *runCmd) configFlag(cmd *cobra.Command) {
	(&configflags.Flags{Streams: c.streams}).AddFile(cmd)
}

// conflict finds flags that do not go together. It is not left to those who
// read them, since events tell of it as well.
func (c *runCmd) conflict() error {
	switch {
	case c.json && c.reasoning:
		return errors.New("--json tells of reasoning by itself: leave --reasoning out")
	case c.save != "" && c.continued != "":
		return errors.New("--save and --continue cannot be combined: each names the conversation")
	case c.noSave && c.save+c.continued != "":
		return errors.New("--no-save cannot be combined with --save or --continue")
	}
	return nil
}

// view shows a turn.
type view interface {
	show(turn.Event)
	// end is told last of all how the command ends; message is of an error that
	// no event has told of.
	end(status turn.Status, code int, message, saved string)
	// Err gives the first error that showing has brought.
	broken() error
}

// errNotWritten ends a turn whose answer goes nowhere any more.
var errNotWritten = errors.New("the answer cannot be written")

// run has the prompt answered.
func (c *runCmd) run(ctx context.Context, args []string) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // that a reader has left is noticed where it is written to
	ctx, unread := context.WithCancelCause(ctx)
	defer unread(nil)
	c.view = c.newView(func() { unread(errNotWritten) })
	if err := errors.Join(c.conflict(), checkContinue(c.continued, args)); err != nil {
		return err
	}
	if c.serverURL() != "" {
		return c.runAtServer(ctx, args)
	}
	world, err := c.newAgent()
	if err != nil {
		return err
	}
	file, err := c.open()
	if err != nil {
		return err
	}
	defer func() { c.saved = file.close(c.ended.Status == turn.Done && c.delivered()) }()
	if events, ok := c.view.(*jsonView); ok {
		events.turn = file.turnID
	}
	input, err := c.input(ctx, file, args)
	if err != nil {
		return err
	}
	tools, closeTools, err := c.tools.open(ctx, c.streams.Err)
	defer closeTools()
	if err != nil {
		return err
	}
	world.Tools, world.Persist = tools, file.append
	return c.drive(ctx, world, file.state, input)
}

// drive runs the turn and shows it.
func (c *runCmd) drive(ctx context.Context, w agent.Agent, s turn.State, input []turn.Event) error {
	for e, err := range w.Run(ctx, s, input...) {
		if err != nil {
			return command.WithCode(err, command.ExitFailed)
		}
		c.show(e)
		if _, again := e.(turn.Restarted); again && len(input) == 1 && unseenAnswer(s) != "" {
			c.view.show(turn.TextDelta{Text: unseenAnswer(s)})
		}
	}
	return c.verdict(ctx)
}

// show shows an event, and remembers how the turn ends.
func (c *runCmd) show(e turn.Event) {
	switch e := e.(type) {
	case turn.Error:
		c.cause = e
	case turn.Sealed:
		c.ended = e
	}
	c.view.show(e)
}

// verdict gives the error that the turn's end comes to.
func (c *runCmd) verdict(ctx context.Context) error {
	switch broken := c.view.broken(); {
	case broken != nil:
		return writeError(broken)
	case c.ended.Status == turn.Failed:
		return command.WithCode(command.Reported{Message: c.cause.Message}, exitOf(c.cause))
	case c.ended.Status == turn.Aborted:
		return command.Failed(context.Cause(ctx))
	}
	return nil
}

// writeError makes an error of one that writing the answer has brought. A reader
// who has left is none: other programs end by SIGPIPE then, without a word.
func writeError(err error) error {
	code := command.ExitFailed
	if readerLeft(err) {
		code = command.ExitSignal + int(syscall.SIGPIPE)
	}
	return command.WithCode(fmt.Errorf("%w: %w", errNotWritten, err), code)
}

// delivered tells whether the answer has gone where it was to go, as far as
// whoever reads it wants it.
func (c *runCmd) delivered() bool {
	err := c.view.broken()
	return err == nil || readerLeft(err)
}

// readerLeft tells whether a write has failed because nobody reads any more.
func readerLeft(err error) bool { return errors.Is(err, syscall.EPIPE) }

// finish tells the view how the command ends.
func (c *runCmd) finish(err error) error {
	code, message := command.Outcome(err)
	status := c.ended.Status
	if status == "" {
		status = turn.Failed
	}
	c.view.end(status, code, message, c.saved)
	return err
}
