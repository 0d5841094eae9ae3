package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
)

const chatsDir = "chats"

type source struct {
	conversations tui.Conversations
	conversation  tui.Conversation      // the one to begin with; nil: a new one
	settings      conversation.Settings // of new ones
	models        func() []string
}

func (c *chatCmd) serverURL() string { return cmp.Or(c.server, c.Streams.Env("RIDETHROUGH_SERVER")) }

// open opens the source of conversations and their tools. MCP servers write their standard error to errs.
func (c *chatCmd) open(ctx context.Context, errs io.Writer, log *slog.Logger) (at source, end func(), err error) {
	end = func() {}
	if c.patience < 0 || c.maxWait < 0 {
		return at, end, errors.New("--patience and --max-wait must not be negative")
	}
	if at.settings, err = c.withFlags(conversation.Settings{Model: c.Streams.Env("RIDETHROUGH_MODEL"), Policy: c.policy()}); err != nil {
		return at, end, err
	}
	if c.serverURL() != "" {
		at, err = c.openServer(ctx, at)
		return at, end, err
	}
	box, err := c.tools.toolbox(&c.config, c.Streams, errs, log)
	if err != nil {
		return at, end, err
	}
	models := app.NewModels(c.Streams.Env, func() *config.Config { return &c.config }, c.Faults(&c.config))
	at, err = c.openLocal(ctx, at, app.Agents{Models: models, Toolbox: box, Watch: c.watch, Bound: func(p policy.Policy) policy.Policy { return p.Capped(c.maxWait) }}, log)
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

// openTools opens the tools for as long as the command runs, so that mistakes in them are reported at its start.
func openTools(ctx context.Context, box *app.Toolbox, s conversation.Settings) error {
	a, err := box.Agent(s.Agent)
	if err != nil {
		return err
	}
	_, err = box.Open(ctx, a, s.Dir)
	return command.Failed(err)
}

func (c *chatCmd) openLocal(ctx context.Context, at source, w app.Agents, log *slog.Logger) (source, error) {
	dir, err := c.store.Dir()
	if err != nil {
		return at, err
	}
	f := chat.Folder{Validate: w.Validate, Log: log, Runner: func(e store.Store) *conversation.Runner { return w.Runner(e, log) }}
	f.WorkDir, _ = os.Getwd() // without it, the latest is the latest of all
	if dir != storecmd.None {
		f.Dir = filepath.Join(dir, chatsDir)
	}
	at.conversations, at.models = f, sync.OnceValue(func() []string { return c.modelNames(ctx, f) })
	f.Override = c.override
	if at, begun, err := c.begin(ctx, at, f, app.Suggestions(c.Streams.Env)); begun || err != nil {
		return at, err
	}
	_, err = w.Validate(at.settings)
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return at, command.Failed(err) // the directory of the tools
	}
	return at, modelError(err)
}

func (c *chatCmd) openServer(ctx context.Context, at source) (source, error) {
	if c.tools.local() || c.store.Data+c.metrics != "" || c.maxWait != 0 {
		return at, errors.New("--files, --mcp, --yes, --data, --metrics and --max-wait cannot be combined with --server")
	}
	s := chat.Server{Client: client.Client{Base: c.serverURL(), Token: c.Streams.Env("RIDETHROUGH_TOKEN")}}
	at.conversations, at.models = s, func() []string { return nil }
	s.Override = c.override
	if at, begun, err := c.begin(ctx, at, s, nil); begun || err != nil {
		return at, err
	}
	for _, err := range s.List(ctx) { // checks the address and the token
		return at, settingsError(err)
	}
	return at, nil
}

// begin opens the conversation that the user continues, with the settings that flags override, or lets the user
// choose; false: a new conversation begins. ready are suggestions for its model.
func (c *chatCmd) begin(ctx context.Context, at source, overridden tui.Conversations, ready []string) (_ source, begun bool, err error) {
	switch {
	case c.continued != "":
		at, err = c.resume(ctx, at, overridden)
		return at, true, err
	case c.pick:
		at.conversations = overridden
		return at, true, nil
	case at.settings.Model == "":
		err = command.WithCode(noModel(ready), command.ExitConfig)
	}
	return at, false, err
}

// override applies the flags to the settings of a conversation that is continued.
func (c *chatCmd) override(s conversation.Settings) conversation.Settings {
	if changed, err := c.withFlags(s); err == nil {
		return changed
	}
	return s // open has checked them before
}

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

// latest returns the conversation that was used last. It prefers this working directory, then conversations that no
// other terminal has open.
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

func openError(id string, err error) error {
	switch {
	case errors.Is(err, store.ErrInUse):
		return command.Failed(fmt.Errorf("conversation %s is open in another terminal", id))
	case errors.Is(err, conversation.ErrNotFound):
		return command.Failed(fmt.Errorf("conversation %s does not exist", id))
	}
	return settingsError(err)
}

func settingsError(err error) error {
	if err == nil {
		return nil
	}
	return serverError(modelError(err))
}

// policy returns the policy that the user has named. "": the upstream's or the configuration's applies, which may
// come from a file.
func (c *chatCmd) policy() string {
	flag, variable := c.Command.Flags().Lookup("policy"), c.Streams.Env("RIDETHROUGH_POLICY")
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

const ownPolicy = "own"

// recentConversations bounds how many conversations are searched for model names while the user waits.
const recentConversations = 20

// modelNames returns suggestions for /model: recently used models, and the prefixes of providers with credentials.
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
	add(c.Streams.Env("RIDETHROUGH_MODEL"))
	for _, line := range app.Suggestions(c.Streams.Env) {
		begin, _, _ := strings.Cut(line, "…")
		add(begin)
	}
	return all
}

// resumeCommand returns the command that continues a conversation, with the flags that are not stored in it.
func (c *chatCmd) resumeCommand(id string) string {
	line := commandLine{"ridethrough", "chat"}
	switch server := c.serverURL(); {
	case server != "":
		line.add("--server", server)
	case c.store.Data == storecmd.None || c.store.Data == "" && c.Streams.Env("RIDETHROUGH_DATA") == storecmd.None:
		return "" // nothing is stored
	default:
		line.add("--data", c.store.Data)
		c.tools.addTo(&line)
		line.add("--config", c.Command.Flag("config").Value.String())
		if c.maxWait > 0 {
			line.add("--max-wait", c.maxWait.String())
		}
		if c.config.Policy() == ownPolicy {
			line.add("--policy", c.Command.Flag("policy").Value.String())
		}
		if c.tools.yes {
			line = append(line, "--yes")
		}
	}
	return line.continuing(id)
}
