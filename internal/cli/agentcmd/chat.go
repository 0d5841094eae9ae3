package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/wire"
)

func Chat(s command.Streams) *cobra.Command {
	c := &chatCmd{streams: s, store: storeflags.Flags{Streams: s}, approvals: make(chan tui.Approval)}
	cmd := &cobra.Command{
		Use:   "chat [PROMPT]",
		Short: "Have a conversation in the terminal, through whatever outage there is",
		Long: "chat is a conversation with a model that outlasts its provider's outages, the terminal and the process.\n" +
			"While the provider is down it says so, counts down to the next try, and takes r for now and Ctrl+C to\n" +
			"cancel. What is typed meanwhile waits in a queue. Each conversation is kept in a directory of its own, so\n" +
			"any number of terminals run side by side.\n\n" +
			"Where lines can only be appended (a pipe, TERM=dumb, --plain, ACCESSIBLE), they are: a line that is read\n" +
			"is said, and the command ends when the input has and everything is answered.\n\n" +
			"Keys and addresses are in the same variables as for `ridethrough run`.\n\n" +
			"The exit code is 0 when you leave, 1 for failures, 2 for wrong usage, 77 for credentials, 78 for the\n" +
			"configuration, 129 when the terminal is closed, 130 after SIGINT and 143 after SIGTERM; where lines are only\n" +
			"appended also 75, if the last turn has failed because the provider stayed down or the account is spent.\n" +
			"What is under way then goes on with `ridethrough chat --continue`.",
		Example: "  ridethrough chat -m anthropic/claude-opus-4-5\n" +
			"  ridethrough chat --continue\n" +
			"  ridethrough chat -m ollama/qwen3 --files . \"What does this program do?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkContinue(c.continued, args); err != nil {
				return err
			}
			return configflags.Explain(c.run(cmd.Context(), strings.TrimSpace(strings.Join(args, " "))))
		},
	}
	c.settings = configflags.Flags{Command: cmd, Streams: s}
	c.flags(cmd)
	return cmd
}

// chatCmd is what `chat` was asked for.
type chatCmd struct {
	streams  command.Streams
	settings configflags.Flags
	store    storeflags.Flags

	modelFlags
	tools toolFlags

	continued string // the conversation to continue; "": a new one
	server    string
	plain     bool
	notify    string
	log       string
	logFile   string

	config    config.Config
	approvals chan tui.Approval
}

// AddAll adds the command's flags.
func (c *chatCmd) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.modelFlags.flags(cmd)
	c.tools.flags(cmd)
	continueFlag(cmd, &c.continued, "by its id")
	f.BoolVar(&c.plain, "plain", false, "append lines only, replace none [RIDETHROUGH_PLAIN]")
	f.StringVar(&c.notify, "notify", "", "how to tell whoever looks elsewhere: all, none, or of desktop, bell, progress and title [RIDETHROUGH_NOTIFY]")
	c.store.AddData(cmd)
	f.StringVar(&c.server, "server", "", "URL of a running `ridethrough serve` that keeps the conversations and works on them [RIDETHROUGH_SERVER]")
	f.StringVar(&c.log, "log", "", "log from this level on, to a file: debug, info, warn or error; the default is not to")
	f.StringVar(&c.logFile, "log-file", "", "that file; the default is ridethrough/chat.log in $XDG_STATE_HOME or ~/.local/state [RIDETHROUGH_LOG_FILE]")
	c.settings.AddFile(cmd)
}

// run has the conversation.
func (c *chatCmd) run(ctx context.Context, prompt string) error {
	ctx, cancel := hangup(ctx)
	defer cancel()
	notify, err := tui.ParseNotify(cmp.Or(c.notify, c.streams.Env("RIDETHROUGH_NOTIFY")))
	if err != nil {
		return err
	}
	if c.config, err = c.settings.Interactive(); err != nil {
		return err
	}
	plain := c.plain || isSet(c.streams.Env("RIDETHROUGH_PLAIN")) || !tui.Interactive(c.streams.In, c.streams.Out, c.streams.Env)
	log, file, err := c.logger()
	if err != nil {
		return err
	}
	defer file.Close()
	at, end, err := c.open(ctx, c.errorOutput(plain, file), log)
	if err != nil {
		return err
	}
	defer end()
	return c.verdict(ctx, tui.Run(ctx, tui.Config{
		Conversations: at.conversations, Conversation: at.conversation, Settings: at.settings, Prompt: prompt,
		In: c.streams.In, Out: c.streams.Out, Env: c.streams.Env, Plain: plain,
		Approvals: c.approvals, Models: at.models, Resume: c.resumeCommand, History: c.streams.StateFile("prompts"), Notify: notify,
	}))
}

// hangup ends a context when the terminal is closed, which others take for the
// end of the process.
func hangup(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGHUP)
	go func() {
		select {
		case <-closed:
			cancel(command.Interrupted{Signal: syscall.SIGHUP})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(closed); cancel(nil) }
}

// isSet tells whether a variable says yes.
func isSet(value string) bool { return value != "" && value != "0" && value != "false" }

// verdict gives the error that the end of a conversation comes to.
func (c *chatCmd) verdict(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*tui.Failure](err); ok {
		return command.WithCode(command.Reported{Message: f.Cause.Message}, exitOf(f.Cause))
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return command.Failed(err)
}

// command.Logger gives the log that was asked for, in a file: the screen is for the
// conversation.
func (c *chatCmd) logger() (*slog.Logger, io.WriteCloser, error) {
	if c.log == "" {
		return slog.New(slog.DiscardHandler), discardFile{}, nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.log)); err != nil {
		return nil, nil, badLevel(c.log)
	}
	name := cmp.Or(c.logFile, c.streams.Env("RIDETHROUGH_LOG_FILE"), c.streams.StateFile("chat.log"))
	if name == "" {
		return nil, nil, errors.New("there is no place for a log: name a file with --log-file")
	}
	file, err := appendTo(name)
	if err != nil {
		return nil, nil, command.Failed(err)
	}
	return slog.New(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level})), file, nil
}

// discardFile is the log of whoever wants none.
type discardFile struct{}

func (discardFile) Write(p []byte) (int, error) { return len(p), nil }
func (discardFile) Close() error                { return nil }

// errorOutput is where MCP servers say what is no answer: beside a screen that is
// drawn there is no room for it.
func (c *chatCmd) errorOutput(plain bool, log io.Writer) io.Writer {
	if plain {
		return c.streams.Err
	}
	return log
}

// withFlags gives settings with what flags say in the place of what there is.
func (c *chatCmd) withFlags(s conversation.Settings) (conversation.Settings, error) {
	changed := c.settings.Command.Flags().Changed
	if changed("model") {
		s.Model = c.model
	}
	if changed("fallback") {
		s.Fallback = c.fallback
	}
	if changed("patience") {
		s.Patience = wire.Millis(c.patience)
	}
	if changed("policy") {
		s.Policy = c.policy()
	}
	if changed("effort") {
		s.Effort = c.effort
	}
	var err error
	if changed("system") {
		s.System, err = readSystem(c.system)
	}
	return s, err
}
