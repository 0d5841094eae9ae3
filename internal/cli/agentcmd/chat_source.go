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
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/store"
)

// chatsDir is the folder of the terminals' conversations, in that of all data.
const chatsDir = "chats"

// Dir is where the conversations are.
type source struct {
	conversations tui.Conversations
	conversation  tui.Conversation      // the one to begin with; nil: a new one
	settings      conversation.Settings // of new ones
	models        func() []string
}

// serverURL gives the server that keeps the conversations; "": they are here.
func (c *chatCmd) serverURL() string { return cmp.Or(c.server, c.streams.Env("RIDETHROUGH_SERVER")) }

// Open finds where the conversations are, and what they have to do with. errs is
// for what MCP servers say besides.
func (c *chatCmd) open(ctx context.Context, errs io.Writer, log *slog.Logger) (at source, end func(), err error) {
	end = func() {}
	if c.patience < 0 {
		return at, end, errors.New("--patience is not below 0")
	}
	if at.settings, err = c.withFlags(conversation.Settings{Model: c.streams.Env("RIDETHROUGH_MODEL"), Policy: c.policy()}); err != nil {
		return at, end, err
	}
	if c.serverURL() != "" {
		at, err = c.openServer(ctx, at)
		return at, end, err
	}
	tools, end, err := c.tools.open(ctx, errs)
	if err == nil {
		at, err = c.openLocal(ctx, at, app.Worlds{Env: c.streams.Env, Policy: c.config.Named, Tools: tools, Approve: c.approve}, log)
	}
	if err != nil {
		end()
	}
	return at, end, err
}

// openLocal is the place on this machine.
func (c *chatCmd) openLocal(ctx context.Context, at source, w app.Worlds, log *slog.Logger) (source, error) {
	dir, err := c.store.Dir()
	if err != nil {
		return at, err
	}
	f := chat.Folder{Validate: w.Settle, Log: log, Runner: func(e store.Store) *conversation.Runner { return w.Host(e, log) }}
	f.WorkDir, _ = os.Getwd() // without it conversations are found by their time
	if dir != storeflags.None {
		f.Dir = filepath.Join(dir, chatsDir)
	}
	at.conversations, at.models = f, sync.OnceValue(func() []string { return c.modelNames(ctx, f) })
	if c.continued != "" {
		f.Override = c.override
		return c.resume(ctx, at, f)
	}
	if at.settings.Model == "" {
		return at, command.WithCode(noModel(app.Suggestions(c.streams.Env)), command.ExitConfig)
	}
	_, err = w.Settle(at.settings)
	return at, settingsError(err)
}

// openServer is the place at a server.
func (c *chatCmd) openServer(ctx context.Context, at source) (source, error) {
	if c.tools.used() || c.store.Data != "" {
		return at, errors.New("--files, --mcp, --yes and --data cannot be combined with --server")
	}
	s := chat.Server{Client: client.Client{Base: c.serverURL(), Token: c.streams.Env("RIDETHROUGH_TOKEN")}}
	at.conversations, at.models = s, func() []string { return nil }
	if c.continued != "" {
		s.Override = c.override
		return c.resume(ctx, at, s)
	}
	if at.settings.Model == "" {
		return at, command.WithCode(noModel(nil), command.ExitConfig)
	}
	for _, err := range s.List(ctx) { // whether it is there, and lets us in
		return at, settingsError(err)
	}
	return at, nil
}

// override gives the settings of a conversation that is gone on with.
func (c *chatCmd) override(s conversation.Settings) conversation.Settings {
	if changed, err := c.withFlags(s); err == nil {
		return changed
	}
	return s // it would have been said before
}

// resume opens the conversation that was asked for. New ones are made like it.
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

// latest gives the conversation in which something has happened last: one that
// was begun in this directory before others, and one that is free.
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

// openError says why a conversation cannot be opened.
func openError(id string, err error) error {
	switch {
	case errors.Is(err, store.ErrInUse):
		return command.Failed(fmt.Errorf("conversation %s is open in another terminal", id))
	case errors.Is(err, conversation.ErrNotFound):
		return command.Failed(fmt.Errorf("conversation %s does not exist", id))
	}
	return settingsError(err)
}

// settingsError makes an error of what a conversation cannot be had with.
func settingsError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, app.ErrCredentials):
		return command.WithCode(err, command.ExitNoAuth)
	case errors.Is(err, app.ErrEnvironment):
		return command.WithCode(err, command.ExitConfig)
	}
	return serverError(err)
}

// policy gives the name of the policy that was chosen; "": it has none, since it
// is in a file.
func (c *chatCmd) policy() string {
	flag := c.settings.Command.Flags().Lookup("policy")
	switch name := c.config.Policy(); {
	case c.serverURL() != "" && !flag.Changed:
		return cmp.Or(c.streams.Env("RIDETHROUGH_POLICY"), flag.DefValue)
	case c.serverURL() != "":
		return flag.Value.String()
	case name == ownPolicy:
		return ""
	default:
		return name
	}
}

// ownPolicy is what the configuration calls a policy without a name.
const ownPolicy = "own"

// recentConversations is how many conversations are looked at for the models that were used:
// a key that was pressed waits for it.
const recentConversations = 20

// modelNames gives models that /model may mean: those that were used, and how the
// names begin of those that there are credentials for.
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

// resumeCommand gives the command that goes on with a conversation: with what is
// not kept in it.
func (c *chatCmd) resumeCommand(id string) string {
	words := []string{"ridethrough", "chat"}
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, flag, quoted(value))
			}
		}
	}
	switch server := c.serverURL(); {
	case server != "":
		add("--server", server)
	case c.store.Data == storeflags.None || c.store.Data == "" && c.streams.Env("RIDETHROUGH_DATA") == storeflags.None:
		return "" // nothing is kept
	default:
		add("--data", c.store.Data)
		add("--files", c.tools.files)
		add("--mcp", c.tools.mcp...)
		add("--config", c.settings.Command.Flag("config").Value.String())
		if c.config.Policy() == ownPolicy {
			add("--policy", c.settings.Command.Flag("policy").Value.String())
		}
		if c.tools.yes {
			words = append(words, "--yes")
		}
	}
	return strings.Join(append(words, "--continue="+quoted(id)), " ")
}
