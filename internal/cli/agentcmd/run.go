// Package agentcmd has the commands that ask models: chat, run and council. It
// also adds conversations to what `serve` serves.
package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/outlook"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/turns"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// Run returns the command `run`.
func Run(s command.Streams) *cobra.Command {
	c := &runCmd{streams: s}
	cmd := &cobra.Command{
		Use:   "run [PROMPT]",
		Short: "Run an agent on one prompt, through provider outages",
		Long: "run asks a model and runs the tools that it calls until it has answered. The answer goes to standard\n" +
			"output, progress to standard error. Without a prompt argument, run reads standard input; an argument -\n" +
			"includes it.\n\n" +
			"A model is at an upstream of the configuration, with its address, key, policy, limits and fallbacks, or at a\n" +
			"built-in provider. Those read the variables that the providers' own tools use: ANTHROPIC_API_KEY,\n" +
			"ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL, GOOGLE_API_KEY, OLLAMA_HOST and so on.\n\n" +
			"The exit code is 0 if the model has answered, 1 if the turn failed, 2 for wrong usage, 75 if the\n" +
			"provider stayed down or the account is spent, 77 for missing or rejected credentials, 78 for mistakes\n" +
			"in the configuration, 130 after Ctrl+C and 143 after SIGTERM. An unfinished turn is saved;\n" +
			"`ridethrough run --continue` continues it.",
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

// flagError ends a command with a wrong flag. With --json, the exit event reports the error too.
func (c *runCmd) flagError(_ *cobra.Command, err error) error {
	if !c.json {
		return err
	}
	c.view = c.newView(func() {})
	return c.finish(err)
}

// runCmd is a call of `run`.
type runCmd struct {
	streams  command.Streams
	settings configflags.Flags

	modelFlags
	maxWait   time.Duration
	maxTokens int
	whole     bool

	tools toolFlags
	outputFlags
	reasoning       bool
	save, continued string
	noSave          bool
	server          string
	attached        []string
	at              string // the conversation there; "": none
	log, metrics    string

	config    config.Config
	view      view
	unlimited policy.Policy // without --max-wait; zero: that limits nothing
	cut       bool          // the default of --max-wait ends waiting sooner than the policy
	ended     turn.Sealed   // how the turn has ended; zero: it has not
	cause     turn.Error    // why it failed
	saved     string        // the file that has the turn; "": none
}

// modelFlags are the flags about models.
type modelFlags struct {
	model, system, effort string
	fallback              []string
	patience              time.Duration
}

// flags adds them to a command.
func (c *modelFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "the model, as PROVIDER/MODEL, where PROVIDER may be an upstream of the configuration [RIDETHROUGH_MODEL]")
	f.StringArrayVar(&c.fallback, "fallback", nil, "a model that takes over when the previous one stays down; repeatable (default those of the upstream)")
	f.DurationVar(&c.patience, "patience", 0, "how long a model may fail before its fallback takes over")
	f.String("policy", "interactive", "the retry policy: a preset, one from the configuration, none, or a file with one [RIDETHROUGH_POLICY]")
	f.StringVar(&c.system, "system", "", "the system prompt, or @FILE")
	f.StringVar(&c.effort, "effort", "", "the reasoning effort: low, medium or high (default the model's own)")
}

// outputFlags are the flags about what is written.
type outputFlags struct{ json, plain bool }

// flags adds them to a command.
func (o *outputFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print events to standard output, one JSON object per line; the last one is the exit event")
	f.BoolVar(&o.plain, "plain", false, "only append lines, never redraw them")
}

// flags adds the command's flags.
func (c *runCmd) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.modelFlags.flags(cmd)
	f.DurationVar(&c.maxWait, "max-wait", maxWait, "the longest total wait; 0 for the policy's limit [RIDETHROUGH_MAX_WAIT]")
	f.IntVar(&c.maxTokens, "max-tokens", 0, "the longest answer in tokens; 0 for the provider's default")
	f.BoolVar(&c.whole, "whole", false, "request whole answers instead of streams")
	f.StringArrayVar(&c.attached, "file", nil, "attach a text or image `FILE` to the prompt; repeatable")
	c.tools.flags(cmd)
	c.outputFlags.flags(cmd)
	f.BoolVar(&c.reasoning, "reasoning", false, "print the model's reasoning to standard error")
	f.StringVar(&c.save, "save", "", "store the conversation in `FILE`, continuing it if it exists")
	continueFlag(cmd, &c.continued, "the file of a saved or exported one, or an id at --server")
	f.BoolVar(&c.noSave, "no-save", false, "store nothing on disk")
	f.StringVar(&c.server, "server", "", "`URL` of a running ridethrough serve that runs and stores the turn, such as http://127.0.0.1:8484 [RIDETHROUGH_SERVER]")
	f.StringVar(&c.log, "log", "", "log to standard error from this level up: debug, info, warn or error (default no log)")
	metricsFlag(cmd, &c.metrics)
	c.configFlag(cmd)
}

// configFlag adds the flag for the configuration file.
func (c *runCmd) configFlag(cmd *cobra.Command) {
	(&configflags.Flags{Streams: c.streams}).AddFile(cmd)
}

// conflict returns an error for flags that cannot be combined. Cobra's own check
// would come before the view that --json needs.
func (c *runCmd) conflict() error {
	switch {
	case c.json && c.reasoning:
		return errors.New("--json includes the reasoning: leave --reasoning out")
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
	// end is called last; message is of an error that no event has reported.
	end(status turn.Status, code int, message, saved string)
	// broken returns the first error of writing.
	broken() error
}

// errNotWritten ends a turn whose answer cannot be written any more.
var errNotWritten = errors.New("the answer cannot be written")

// run runs the turn here, or at a server.
func (c *runCmd) run(ctx context.Context, args []string) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a closed pipe is handled as a write error
	ctx, unread := context.WithCancelCause(ctx)
	defer unread(nil)
	c.view = c.newView(func() { unread(errNotWritten) })
	if err := errors.Join(c.conflict(), checkContinue(c.continued, args)); err != nil {
		return err
	}
	if c.serverURL() != "" {
		return c.runAtServer(ctx, args)
	}
	ag, err := c.newAgent()
	if err != nil {
		return err
	}
	log, err := errorLog(c.streams, c.log)
	if err != nil {
		return err
	}
	file, err := c.open()
	if err != nil {
		return err
	}
	events, _ := c.view.(*jsonView)
	if events != nil {
		events.turn = file.turnID
	}
	defer func() {
		if c.saved = file.close(c.completed()); c.saved != "" && events != nil {
			events.conversation = file.file.Conversation().ID
		}
	}()
	input, err := c.input(ctx, file, args)
	if err != nil {
		return err
	}
	closeTools, err := c.openTools(ctx, &ag)
	defer closeTools()
	if err != nil {
		return err
	}
	watcher, flush, err := observe(ctx, c.streams, turns.Run, log, c.metrics)
	if err != nil {
		return err
	}
	defer flush()
	ag.Persist, ag.OnReport = file.append, watcher.Turn(file.turnOf(input), traceparent(c.streams))
	return c.drive(ctx, ag, file.state, input)
}

// openTools opens the tools of an agent.
func (c *runCmd) openTools(ctx context.Context, ag *agent.Agent) (end func(), err error) {
	ctx, left := context.WithCancel(ctx)
	box, err := c.tools.toolbox(&c.config, c.streams, c.streams.Err, slog.New(slog.DiscardHandler))
	if err != nil {
		return left, err
	}
	end = func() { box.Close(); left() }
	a, err := box.Agent(c.tools.agent)
	if err != nil {
		return end, err
	}
	ag.Rules, ag.Approve = app.RulesOf(a), c.approve
	ag.Tools, err = box.Open(ctx, a, c.tools.dir)
	return end, command.Failed(err)
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

// show shows an event and records how the turn ends.
func (c *runCmd) show(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		if v, ok := c.view.(*textView); ok && c.cut {
			v.note(screen.Faint, "· waits %s in all, as --max-wait is not set; --max-wait 0 waits as long as the policy", outlook.Duration(c.maxWait))
		}
		c.cut = false
	case turn.ApprovalRequested:
		c.showApproval(e)
	case turn.Error:
		c.cause = e
	case turn.Sealed:
		c.ended = e
	}
	c.view.show(e)
}

// verdict returns the error, with its exit code, for how the turn ended.
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

// writeError returns the error of an answer that could not be written. A closed
// pipe has the exit code of SIGPIPE, as for other programs.
func writeError(err error) error {
	code := command.ExitFailed
	if readerLeft(err) {
		code = command.ExitSignal + int(syscall.SIGPIPE)
	}
	return command.WithCode(fmt.Errorf("%w: %w", errNotWritten, err), code)
}

// delivered reports whether the answer was written as far as its reader wanted it.
func (c *runCmd) delivered() bool {
	err := c.view.broken()
	return err == nil || readerLeft(err)
}

// completed reports whether the turn is done and its answer delivered: there is nothing to continue.
func (c *runCmd) completed() bool { return c.ended.Status == turn.Done && c.delivered() }

// readerLeft reports whether a write failed because the reader closed the pipe.
func readerLeft(err error) bool { return errors.Is(err, syscall.EPIPE) }

// finish shows how the command ends.
func (c *runCmd) finish(err error) error {
	code, message := command.Outcome(err)
	status := c.ended.Status
	if status == "" {
		status = turn.Failed
	}
	c.view.end(status, code, cmp.Or(message, c.waitLimit(c.cause)), c.saved)
	return err
}
