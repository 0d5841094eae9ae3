// Package agentcmd has the commands that ask models: chat, run and council. It
// also adds conversations to what `serve` serves.
//
// It has many files because it joins the parts of three commands and of a server.
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
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// Run returns the command `run`.
func Run(s command.Streams) *cobra.Command {
	c := &runCmd{Flags: configflags.Flags{Streams: s}}
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
		RunE: func(cmd *cobra.Command, args []string) error { return c.finish(c.run(cmd.Context(), args)) },
	}
	c.flags(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if c.json { // the exit event reports the error too
			c.view = c.newView(func() {})
			err = c.finish(err)
		}
		return err
	})
	return cmd
}

type runCmd struct {
	configflags.Flags
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

type modelFlags struct {
	model, system, effort string
	fallback              []string
	patience              time.Duration
}

// flags adds the flags to a command whose calls have a preset by default.
func (c *modelFlags) flags(cmd *cobra.Command, preset string) {
	f := cmd.Flags()
	f.StringVarP(&c.model, "model", "m", "", "the model, as PROVIDER/MODEL, where PROVIDER may be an upstream of the configuration [RIDETHROUGH_MODEL]")
	f.StringArrayVar(&c.fallback, "fallback", nil, "a model that takes over when the previous one stays down; repeatable (default those of the upstream)")
	f.DurationVar(&c.patience, "patience", 0, "how long a model may fail before its fallback takes over")
	f.String("policy", preset, "the retry policy: a preset, one from the configuration, none, or a file with one [RIDETHROUGH_POLICY]")
	f.StringVar(&c.system, "system", "", "the system prompt, or @FILE")
	f.StringVar(&c.effort, "effort", "", "the reasoning effort: low, medium or high (default the model's own)")
}

type outputFlags struct{ json, plain bool }

func (o *outputFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print events to standard output, one JSON object per line; the last one is the exit event")
	f.BoolVar(&o.plain, "plain", false, "only append lines, never redraw them")
}

func (c *runCmd) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.modelFlags.flags(cmd, "interactive")
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
	c.AddFile(cmd)
}

// conflict returns an error for flags that cannot be combined. Cobra would check too early: --json needs its view
// first.
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

type view interface {
	show(turn.Event)
	ending
}

type ending interface {
	// end is called last; message is of an error that no event has reported.
	end(status turn.Status, code int, message, saved string)
	// broken returns the first error of writing.
	broken() error
}

var errNotWritten = errors.New("the answer cannot be written")

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
	log, err := errorLog(c.Streams, c.log)
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
	watcher, flush, err := observe(ctx, c.Streams, RunFace, log, c.metrics)
	if err != nil {
		return err
	}
	defer flush()
	ag.Persist, ag.OnReport = file.append, watcher.Turn(file.turnOf(input), traceparent(c.Streams))
	return c.drive(ctx, ag, file.state, input)
}

func (c *runCmd) openTools(ctx context.Context, ag *agent.Agent) (end func(), err error) {
	ctx, left := context.WithCancel(ctx)
	box, err := c.tools.toolbox(&c.config, c.Streams, c.Streams.Err, slog.New(slog.DiscardHandler))
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

func (c *runCmd) show(e turn.Event) {
	switch e := e.(type) {
	case turn.Retry:
		if v, ok := c.view.(*textView); ok && c.cut {
			v.note(command.Faint, "· waits %s in all, as --max-wait is not set; --max-wait 0 waits as long as the policy", configflags.Duration(c.maxWait))
		}
		c.cut = false
	case turn.ApprovalRequested:
		if v, ok := c.view.(*textView); ok && c.serverURL() != "" {
			v.note(command.Amber, "? %s needs approval; answer on the page, or with: ridethrough chat --server %s --continue=%s",
				printable.Line(e.Name), quoted(c.serverURL()), quoted(c.at))
		}
	case turn.Error:
		c.cause = e
	case turn.Sealed:
		c.ended = e
	}
	c.view.show(e)
}

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

// writeError returns the error of an answer that could not be written. A closed pipe exits with the code of
// SIGPIPE, as other programs do.
func writeError(err error) error {
	code := command.ExitFailed
	if readerLeft(err) {
		code = command.ExitSignal + int(syscall.SIGPIPE)
	}
	return command.WithCode(fmt.Errorf("%w: %w", errNotWritten, err), code)
}

// completed reports whether there is nothing to continue: the turn is done, and its answer written as far as its
// reader wanted it.
func (c *runCmd) completed() bool {
	err := c.view.broken()
	return c.ended.Status == turn.Done && (err == nil || readerLeft(err))
}

func readerLeft(err error) bool { return errors.Is(err, syscall.EPIPE) }

func (c *runCmd) finish(err error) error {
	code, message := command.Outcome(err)
	status := c.ended.Status
	if status == "" {
		status = turn.Failed
	}
	c.view.end(status, code, cmp.Or(message, c.waitLimit(c.cause)), c.saved)
	return err
}
