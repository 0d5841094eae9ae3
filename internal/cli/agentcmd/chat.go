package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/wire"
)

// Chat returns the command `chat`.
func Chat(s command.Streams) *cobra.Command {
	c := &chatCmd{Flags: configflags.Flags{Streams: s}, store: storecmd.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "chat [PROMPT]",
		Short: "Chat with a model in the terminal, through provider outages",
		Long: "chat is a conversation with a model that survives provider outages, a closed terminal and a killed process.\n" +
			"While the provider is down, chat shows why and counts down to the next try: press r to retry now, Ctrl+C to\n" +
			"cancel. Messages that you type meanwhile are queued. Each conversation has its own directory, so you can\n" +
			"use any number of terminals at once.\n\n" +
			"In a pipe, with TERM=dumb, --plain or ACCESSIBLE, chat only appends lines. Each line of input is a message,\n" +
			"and the command ends when the input has ended and everything is answered.\n\n" +
			"Models, keys and base URLs are found in the same places as for `ridethrough run`.\n\n" +
			"The exit code is 0 when you leave, 1 for failures, 2 for wrong usage, 77 for missing or rejected\n" +
			"credentials, 78 for mistakes in the configuration, 129 if the terminal was closed, 130 after SIGINT and\n" +
			"143 after SIGTERM. With plain lines it is 75 if the last turn failed because the provider stayed down or\n" +
			"the account is spent. `ridethrough chat --continue` continues an unfinished turn.",
		Example: "  ridethrough chat -m anthropic/claude-opus-4-5\n" +
			"  ridethrough chat --continue\n" +
			"  ridethrough chat -m ollama/qwen3 --files . \"What does this program do?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkContinue(c.continued, args); err != nil {
				return err
			}
			if c.pick && len(args) > 0 {
				return errors.New("--resume cannot be combined with a prompt: type it when the conversation is open")
			}
			return configflags.Explain(c.run(cmd.Context(), strings.TrimSpace(strings.Join(args, " "))))
		},
	}
	c.flags(cmd)
	return cmd
}

type chatCmd struct {
	configflags.Flags
	store storecmd.Flags
	modelFlags
	tools toolFlags

	pick      bool   // the user chooses the conversation to continue
	continued string // the conversation to continue; "": a new one
	server    string
	plain     bool
	notify    string
	log       string
	logFile   string
	metrics   string
	maxWait   time.Duration // 0: the policy's limit

	config config.Config
	watch  func(conversation.Event)
}

func (c *chatCmd) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.modelFlags.flags(cmd, "attended")
	c.tools.flags(cmd)
	continueFlag(cmd, &c.continued, "by its id")
	f.BoolVar(&c.pick, "resume", false, "choose the conversation to continue from a list")
	cmd.MarkFlagsMutuallyExclusive("continue", "resume")
	f.BoolVar(&c.plain, "plain", false, "only append lines, never redraw them [RIDETHROUGH_PLAIN]")
	f.StringVar(&c.notify, "notify", "", "how to notify you while you are not looking: all, none, or a list of desktop, bell, progress and title [RIDETHROUGH_NOTIFY]")
	c.store.AddFlags(cmd)
	f.StringVar(&c.server, "server", "", "`URL` of a running ridethrough serve that stores and runs the conversations [RIDETHROUGH_SERVER]")
	f.StringVar(&c.log, "log", "", "write a log file from this level up: debug, info, warn or error (default no log)")
	f.StringVar(&c.logFile, "log-file", "", "the log file (default ridethrough/chat.log in $XDG_STATE_HOME or ~/.local/state) [RIDETHROUGH_LOG_FILE]")
	metricsFlag(cmd, &c.metrics)
	f.DurationVar(&c.maxWait, "max-wait", 0, "the longest total wait of a turn; 0 for the policy's limit")
	c.AddFile(cmd)
}

func (c *chatCmd) run(ctx context.Context, prompt string) error {
	ctx, cancel := hangup(ctx)
	defer cancel()
	notify, err := tui.ParseNotify(cmp.Or(c.notify, c.Streams.Env("RIDETHROUGH_NOTIFY")))
	if err != nil {
		return err
	}
	if c.config, err = c.ForUser("attended", "chat"); err != nil {
		return err
	}
	plain := c.plain || isSet(c.Streams.Env("RIDETHROUGH_PLAIN")) || !tui.Interactive(c.Streams.In, c.Streams.Out, c.Streams.Env)
	log, file, end, err := c.logger()
	if err != nil {
		return err
	}
	defer end()
	watcher, flush, err := observe(ctx, c.Streams, ChatFace, log, c.metrics)
	if err != nil {
		return err
	}
	defer flush()
	c.watch = watcher.Watch
	errs := file // of MCP servers: the screen is redrawn
	if plain {
		errs = c.Streams.Err
	}
	at, leave, err := c.open(ctx, errs, log)
	if err != nil {
		return err
	}
	defer leave()
	traced := conversation.WithParent(ctx, traceparent(c.Streams))
	return c.verdict(ctx, tui.Run(traced, tui.Config{
		Conversations: at.conversations, Conversation: at.conversation, Settings: at.settings, Pick: c.pick, Prompt: prompt,
		In: c.Streams.In, Out: c.Streams.Out, Env: c.Streams.Env, Plain: plain,
		Models: at.models, Resume: c.resumeCommand, History: c.Streams.StateFile("prompts"), Notify: notify,
	}))
}

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

func isSet(value string) bool { return value != "" && value != "0" && value != "false" }

func (c *chatCmd) verdict(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*tui.Failure](err); ok {
		return command.WithCode(command.Reported{Message: f.Cause.Message}, exitOf(f.Cause))
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return command.Failed(err)
}

// logger returns a log that writes to a file, since the screen shows the conversation.
func (c *chatCmd) logger() (log *slog.Logger, file io.Writer, end func(), err error) {
	if c.log == "" {
		return slog.New(slog.DiscardHandler), io.Discard, func() {}, nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.log)); err != nil {
		return nil, nil, nil, badLevel(c.log)
	}
	name := cmp.Or(c.logFile, c.Streams.Env("RIDETHROUGH_LOG_FILE"), c.Streams.StateFile("chat.log"))
	if name == "" {
		return nil, nil, nil, errors.New("no state directory for the log; name a file with --log-file")
	}
	to, err := appendTo(name)
	if err != nil {
		return nil, nil, nil, command.Failed(err)
	}
	lines := logging.New(to, func(w io.Writer) slog.Handler {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	})
	return lines.Logger, to, func() { lines.Close(); _ = to.Close() }, nil // its lines are written
}

func (c *chatCmd) withFlags(s conversation.Settings) (conversation.Settings, error) {
	changed := c.Command.Flags().Changed
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
	if changed("agent") {
		s.Agent = c.tools.agent
	}
	if changed("dir") {
		s.Dir = c.tools.dir
	}
	var err error
	if changed("system") {
		s.System, err = readSystem(c.system)
	}
	return s, err
}

func appendTo(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}
