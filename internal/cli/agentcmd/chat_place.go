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

// chats is the folder of the terminals' conversations, in that of all data.
const chats = "chats"

// Dir is where the conversations are.
type place struct {
	talks    tui.Conversations
	talk     tui.Conversation      // the one to begin with; nil: a new one
	settings conversation.Settings // of new ones
	models   func() []string
}

// atServer gives the server that keeps the conversations; "": they are here.
func (c *chatCmd) atServer() string { return cmp.Or(c.server, c.s.Env("RIDETHROUGH_SERVER")) }

// Open finds where the conversations are, and what they have to do with. errs is
// for what MCP servers say besides.
func (c *chatCmd) open(ctx context.Context, errs io.Writer, log *slog.Logger) (at place, end func(), err error) {
	end = func() {}
	if c.patience < 0 {
		return at, end, errors.New("--patience is not below 0")
	}
	if at.settings, err = c.given(conversation.Settings{Model: c.s.Env("RIDETHROUGH_MODEL"), Policy: c.policy()}); err != nil {
		return at, end, err
	}
	if c.atServer() != "" {
		at, err = c.there(ctx, at)
		return at, end, err
	}
	tools, end, err := c.tools.open(ctx, errs)
	if err == nil {
		at, err = c.here(ctx, at, app.Worlds{Env: c.s.Env, Policy: c.conf.Named, Tools: tools, Approve: c.approve}, log)
	}
	if err != nil {
		end()
	}
	return at, end, err
}

// here is the place on this machine.
func (c *chatCmd) here(ctx context.Context, at place, w app.Worlds, log *slog.Logger) (place, error) {
	dir, err := c.storing.Dir()
	if err != nil {
		return at, err
	}
	f := chat.Folder{Validate: w.Settle, Log: log, Runner: func(e store.Store) *conversation.Runner { return w.Host(e, log) }}
	f.WorkDir, _ = os.Getwd() // without it conversations are found by their time
	if dir != storeflags.None {
		f.Dir = filepath.Join(dir, chats)
	}
	at.talks, at.models = f, sync.OnceValue(func() []string { return c.names(ctx, f) })
	if c.last || c.id != "" {
		f.Override = c.with
		return c.resume(ctx, at, f)
	}
	if at.settings.Model == "" {
		return at, command.WithCode(noModel(app.Suggestions(c.s.Env)), command.ExitConfig)
	}
	_, err = w.Settle(at.settings)
	return at, unsettled(err)
}

// there is the place at a server.
func (c *chatCmd) there(ctx context.Context, at place) (place, error) {
	if c.tools.asked() || c.storing.Data != "" {
		return at, errors.New("--files, --mcp, --yes and --data are for conversations that are kept here, and not at --server")
	}
	s := chat.Server{Client: client.Client{Base: c.atServer(), Token: c.s.Env("RIDETHROUGH_TOKEN")}}
	at.talks, at.models = s, func() []string { return nil }
	if c.last || c.id != "" {
		s.Override = c.with
		return c.resume(ctx, at, s)
	}
	if at.settings.Model == "" {
		return at, command.WithCode(noModel(nil), command.ExitConfig)
	}
	for _, err := range s.List(ctx) { // whether it is there, and lets us in
		return at, unsettled(err)
	}
	return at, nil
}

// with gives the settings of a conversation that is gone on with.
func (c *chatCmd) with(s conversation.Settings) conversation.Settings {
	if changed, err := c.given(s); err == nil {
		return changed
	}
	return s // it would have been said before
}

// resume opens the conversation that was asked for. New ones are made like it.
func (c *chatCmd) resume(ctx context.Context, at place, in tui.Conversations) (place, error) {
	id, err := c.id, error(nil)
	if c.last {
		id, err = c.latest(ctx, in)
	}
	if err != nil {
		return at, unsettled(err)
	}
	if at.talk, err = in.Open(ctx, id); err != nil {
		return at, unopened(id, err)
	}
	v, err := at.talk.Get(ctx)
	if err != nil {
		return at, command.Failed(errors.Join(err, at.talk.Close()))
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
		err = command.Failed(errors.New("there is no conversation to go on with; leave --continue out"))
	}
	return id, err
}

// unopened says why a conversation cannot be opened.
func unopened(id string, err error) error {
	switch {
	case errors.Is(err, store.ErrInUse):
		return command.Failed(fmt.Errorf("the conversation %s is open in another terminal", id))
	case errors.Is(err, conversation.ErrNone):
		return command.Failed(fmt.Errorf("there is no conversation %s", id))
	}
	return unsettled(err)
}

// unsettled makes an error of what a conversation cannot be had with.
func unsettled(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, app.ErrCredentials):
		return command.WithCode(err, command.ExitNoAuth)
	case errors.Is(err, app.ErrEnvironment):
		return command.WithCode(err, command.ExitConfig)
	}
	return refused(err)
}

// policy gives the name of the policy that was chosen; "": it has none, since it
// is in a file.
func (c *chatCmd) policy() string {
	flag := c.settings.Command.Flags().Lookup("policy")
	switch name := c.conf.Policy(); {
	case c.atServer() != "" && !flag.Changed:
		return cmp.Or(c.s.Env("RIDETHROUGH_POLICY"), flag.DefValue)
	case c.atServer() != "":
		return flag.Value.String()
	case name == ownPolicy:
		return ""
	default:
		return name
	}
}

// ownPolicy is what the configuration calls a policy without a name.
const ownPolicy = "own"

// lately is how many conversations are looked at for the models that were used:
// a key that was pressed waits for it.
const lately = 20

// names gives models that /model may mean: those that were used, and how the
// names begin of those that there are credentials for.
func (c *chatCmd) names(ctx context.Context, in tui.Conversations) (all []string) {
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
		if looked++; looked == lately {
			break
		}
	}
	add(c.s.Env("RIDETHROUGH_MODEL"))
	for _, line := range app.Suggestions(c.s.Env) {
		begin, _, _ := strings.Cut(line, "…")
		add(begin)
	}
	return all
}

// howToResume gives the command that goes on with a conversation: with what is
// not kept in it.
func (c *chatCmd) howToResume(id string) string {
	words := []string{"ridethrough", "chat"}
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, flag, quoted(value))
			}
		}
	}
	switch server := c.atServer(); {
	case server != "":
		add("--server", server)
	case c.storing.Data == storeflags.None || c.storing.Data == "" && c.s.Env("RIDETHROUGH_DATA") == storeflags.None:
		return "" // nothing is kept
	default:
		add("--data", c.storing.Data)
		add("--files", c.tools.files)
		add("--mcp", c.tools.mcp...)
		add("--config", c.settings.Command.Flag("config").Value.String())
		if c.conf.Policy() == ownPolicy {
			add("--policy", c.settings.Command.Flag("policy").Value.String())
		}
		if c.tools.yes {
			words = append(words, "--yes")
		}
	}
	add("--session", id)
	return strings.Join(words, " ")
}
