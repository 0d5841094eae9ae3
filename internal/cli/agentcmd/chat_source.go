package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
)

// chatsDir is the directory of the conversations of `chat`, in the data directory.
const chatsDir = "chats"

// source is where the conversations are stored.
type source struct {
	conversations tui.Conversations
	conversation  tui.Conversation      // the one to begin with; nil: a new one
	settings      conversation.Settings // of new ones
	models        func() []string
}

// serverURL returns the server that stores the conversations; "": this machine.
func (c *chatCmd) serverURL() string { return cmp.Or(c.server, c.streams.Env("RIDETHROUGH_SERVER")) }

// open opens the source of conversations and their tools. errs is for the standard error of MCP servers.
func (c *chatCmd) open(ctx context.Context, errs io.Writer, log *slog.Logger) (at source, end func(), err error) {
	end = func() {}
	if c.patience < 0 || c.maxWait < 0 {
		return at, end, errors.New("--patience and --max-wait must not be negative")
	}
	if at.settings, err = c.withFlags(conversation.Settings{Model: c.streams.Env("RIDETHROUGH_MODEL"), Policy: c.policy()}); err != nil {
		return at, end, err
	}
	if c.serverURL() != "" {
		at, err = c.openServer(ctx, at)
		return at, end, err
	}
	box, err := c.tools.toolbox(&c.config, c.streams, errs, log)
	if err != nil {
		return at, end, err
	}
	models := app.NewModels(c.streams.Env, func() *config.Config { return &c.config }, c.settings.Faults(&c.config))
	at, err = c.openLocal(ctx, at, app.Agents{Models: models, Toolbox: box, Watch: c.watch, Bound: c.bound}, log)
	if err == nil {
		err = openTools(ctx, box, at.settings)
	}
	if err != nil {
		box.Close()
		if at.conversation != nil {
			err = errors.Join(err, at.conversation.Close())
		}
	}
	return at, box.Close, err
}

// openTools opens the tools of conversations for as long as the command runs, so that their mistakes are noticed
// at its start.
func openTools(ctx context.Context, box *app.Toolbox, s conversation.Settings) error {
	a, err := box.Agent(s.Agent)
	if err != nil {
		return err
	}
	_, err = box.Open(ctx, a, s.Dir)
	return command.Failed(err)
}

// openLocal opens the source on this machine.
func (c *chatCmd) openLocal(ctx context.Context, at source, w app.Agents, log *slog.Logger) (source, error) {
	dir, err := c.store.Dir()
	if err != nil {
		return at, err
	}
	f := chat.Folder{Validate: w.Validate, Log: log, Runner: func(e store.Store) *conversation.Runner { return w.Runner(e, log) }}
	f.WorkDir, _ = os.Getwd() // without it, the latest is the latest of all
	if dir != datadir.None {
		f.Dir = filepath.Join(dir, chatsDir)
	}
	at.conversations, at.models = f, sync.OnceValue(func() []string { return c.modelNames(ctx, f) })
	switch {
	case c.continued != "":
		f.Override = c.override
		return c.resume(ctx, at, f)
	case c.pick:
		f.Override = c.override
		at.conversations = f
		return at, nil
	}
	if at.settings.Model == "" {
		return at, command.WithCode(noModel(app.Suggestions(c.streams.Env)), command.ExitConfig)
	}
	_, err = w.Validate(at.settings)
	return at, settingsError(err)
}

// openServer opens the source at a server.
func (c *chatCmd) openServer(ctx context.Context, at source) (source, error) {
	if c.tools.local() || c.store.Data+c.metrics != "" || c.maxWait != 0 {
		return at, errors.New("--files, --mcp, --yes, --data, --metrics and --max-wait cannot be combined with --server")
	}
	s := chat.Server{Client: client.Client{Base: c.serverURL(), Token: c.streams.Env("RIDETHROUGH_TOKEN")}}
	at.conversations, at.models = s, func() []string { return nil }
	switch {
	case c.continued != "":
		s.Override = c.override
		return c.resume(ctx, at, s)
	case c.pick:
		s.Override = c.override
		at.conversations = s
		return at, nil
	}
	if at.settings.Model == "" {
		return at, command.WithCode(noModel(nil), command.ExitConfig)
	}
	for _, err := range s.List(ctx) { // checks the address and the token
		return at, settingsError(err)
	}
	return at, nil
}

// bound returns a policy that waits no longer than --max-wait.
func (c *chatCmd) bound(p policy.Policy) policy.Policy { return capped(p, c.maxWait) }

// override returns the settings of a conversation that is continued.
func (c *chatCmd) override(s conversation.Settings) conversation.Settings {
	if changed, err := c.withFlags(s); err == nil {
		return changed
	}
	return s // open has checked them before
}

// resume opens the conversation to continue. New ones take over its settings.
func (c *chatCmd) resume(ctx context.Context, at source, in tui.Conversations) (source, error) {
	id, err := c.continued, error(nil)
	if id == latest {
		id, err = c.latest(ctx, in)
	}
	if err != nil {
		return at, settingsError(err)
	}
	if at.conversation, err = in.Open(ctx, id); err != nil {
		return at, openError(id, err)
	}
	v, err := at.conversation.Get(ctx)
	if err != nil {
		return at, command.Failed(errors.Join(err, at.conversation.Close()))
	}
	at.settings = v.Settings
	at.settings.Title = ""
	return at, nil
}

// latest returns the conversation that was used last. Those of this working
// directory come first, then those that no other terminal uses.
func (c *chatCmd) latest(ctx context.Context, in tui.Conversations) (id string, err error) {
	here, _ := os.Getwd()
	var first, free, near string
	for e, err := range in.List(ctx) {
		switch {
		case err != nil:
			return "", err
		case !e.InUse && e.Folder == here && near == "":
			near = e.ID
		case !e.InUse && free == "":
			free = e.ID
		}
		first = cmp.Or(first, e.ID)
	}
	if id = cmp.Or(near, free, first); id == "" {
		err = command.Failed(errors.New("no conversation to continue"))
	}
	return id, err
}

// openError returns the error of a conversation that cannot be opened.
func openError(id string, err error) error {
	switch {
	case errors.Is(err, store.ErrInUse):
		return command.Failed(fmt.Errorf("conversation %s is open in another terminal", id))
	case errors.Is(err, conversation.ErrNotFound):
		return command.Failed(fmt.Errorf("conversation %s does not exist", id))
	}
	return settingsError(err)
}

// settingsError adds the exit code to an error of settings.
func settingsError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, app.ErrCredentials):
		return command.WithCode(err, command.ExitNoAuth)
	case errors.Is(err, app.ErrEnvironment), errors.Is(err, app.ErrConfig):
		return command.WithCode(err, command.ExitConfig)
	}
	return serverError(err)
}

// policy returns the name of the policy that the user has chosen; "": none is, or it is in a file. Then each
// upstream's holds, or that of the configuration.
func (c *chatCmd) policy() string {
	flag, variable := c.settings.Command.Flags().Lookup("policy"), c.streams.Env("RIDETHROUGH_POLICY")
	switch name := c.config.Policy(); {
	case c.serverURL() != "" && !flag.Changed:
		return cmp.Or(variable, flag.DefValue)
	case c.serverURL() != "":
		return flag.Value.String()
	case name == ownPolicy, !flag.Changed && variable == "":
		return ""
	default:
		return name
	}
}

// ownPolicy is what the configuration calls a policy without a name.
const ownPolicy = "own"

// recentConversations is how many conversations are searched for the names of models while the user waits.
const recentConversations = 20

// modelNames returns suggestions for /model: recently used models, and the prefixes
// of providers with credentials.
func (c *chatCmd) modelNames(ctx context.Context, in tui.Conversations) (all []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	looked := 0
	for e := range in.List(ctx) {
		add(e.Settings.Model)
		for _, name := range e.Settings.Fallback {
			add(name)
		}
		if looked++; looked == recentConversations {
			break
		}
	}
	add(c.streams.Env("RIDETHROUGH_MODEL"))
	for _, line := range app.Suggestions(c.streams.Env) {
		begin, _, _ := strings.Cut(line, "…")
		add(begin)
	}
	return all
}

// resumeCommand returns the command that continues a conversation, with the flags that are not stored in it.
func (c *chatCmd) resumeCommand(id string) string {
	args := []string{"ridethrough", "chat"}
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" {
				args = append(args, flag, quoted(value))
			}
		}
	}
	switch server := c.serverURL(); {
	case server != "":
		add("--server", server)
	case c.store.Data == datadir.None || c.store.Data == "" && c.streams.Env("RIDETHROUGH_DATA") == datadir.None:
		return "" // nothing is stored
	default:
		add("--data", c.store.Data)
		add("--agent", c.tools.agent)
		add("--dir", c.tools.dir)
		add("--files", c.tools.files)
		add("--mcp", c.tools.mcp...)
		add("--config", c.settings.Command.Flag("config").Value.String())
		if c.maxWait > 0 {
			add("--max-wait", c.maxWait.String())
		}
		if c.config.Policy() == ownPolicy {
			add("--policy", c.settings.Command.Flag("policy").Value.String())
		}
		if c.tools.yes {
			args = append(args, "--yes")
		}
	}
	return strings.Join(append(args, "--continue="+quoted(id)), " ")
}
