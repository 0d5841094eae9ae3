package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/api"
	serverconversations "github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
)

// Conversations returns the conversations and councils of `serve`.
func Conversations(s command.Streams) gatewaycmd.Extension {
	return &conversations{store: storecmd.Flags{Streams: s}}
}

type conversations struct {
	store storecmd.Flags
	data  string
}

// Data returns the directory in which they are stored, "nats", or "" without a store.
func (c *conversations) Data() string { return c.data }

func (c *conversations) AddFlags(cmd *cobra.Command) { c.store.AddAll(cmd) }

// Attach adds conversations and councils to the server. Conversations are unavailable until their store is open;
// the gateway does not wait for it.
func (c *conversations) Attach(ctx context.Context, to *server.Config, conf func() *config.Config, faults classify.Classifier) (end func(), err error) {
	c.store.Replicas = conf().Replicas
	dir, err := c.store.Dir()
	switch {
	case errors.Is(err, storecmd.ErrNotDirectory) && c.store.URL() == "":
		return nil, err
	case err != nil || c.store.URL() != "" || dir == storecmd.None:
		dir = "" // of none
	}
	if dir != "" {
		to.History, to.Audit = history.Open(filepath.Join(dir, "history.json"), to.Log), rest.OpenAudit(filepath.Join(dir, "audit.jsonl"), to.Log)
	}
	models := app.NewModels(c.store.Streams.Env, conf, faults)
	shared := models.Shared()
	name := func(provider string) string {
		if shared.Of(provider) != nil {
			return provider
		}
		return history.ConversationUpstream(provider)
	}
	w := app.Agents{Models: models, Shared: shared, Watch: watchAll(to, name), Toolbox: c.toolbox(conf, to.Log)}
	watcher := NewTurnWatcher(CouncilFace, to.OnTurn)
	watcher.Group = to.Group
	to.OpenAPI = api.OpenAPI()
	to.Share = func(upstream string, _ *url.URL, b *breaker.Breaker, _ *ratelimit.Table) func() {
		return shared.Add(upstream, b)
	}
	council := &serverconversations.Councils{New: w.Councils(), Watch: watcher.Members}
	if dir == "" && c.store.URL() == "" {
		to.Extensions = append(to.Extensions, council)
		return func() {}, nil
	}
	opened, err := c.store.OpenInBackground(to.Log)
	if err != nil {
		return nil, err
	}
	c.data = cmp.Or(dir, "nats") // the URL may hold a secret
	to.Choices = func() (string, []string) { return c.store.Streams.Env("RIDETHROUGH_MODEL"), conf().Agents() }
	served := &serverconversations.API{Settle: w.Validate, Name: name}
	served.Runner, end = w.Start(ctx, opened, to.Log)
	to.Recovered = served.Runner.Recovered
	to.Conversations, to.Store = served, (&serverconversations.Health{Store: opened}).Current
	to.Extensions = append(to.Extensions, served, council)
	if dir == "" {
		return joinFleet(to, cmp.Or(conf().Fleet, config.DefaultFleet), opened, end), nil
	}
	stop := writeHistory(ctx, opened, to.History, end)
	return func() { stop(); to.Audit.Close() }, nil
}

func (c *conversations) toolbox(conf func() *config.Config, log *slog.Logger) *app.Toolbox {
	env := c.store.Streams.Env
	return &app.Toolbox{
		Env: env, Log: log,
		Stderr: func(server string) io.Writer { return logging.Lines(log.With("server", server), "mcp server") },
		Agent: func(name string) (config.Agent, error) {
			a, err := conf().Agent(name, env)
			a.ApprovalTime = cmp.Or(a.ApprovalTime, config.DefaultApprovalTime)
			return a, err
		},
	}
}

// watchAll returns a function that passes events of turns to all recorders of a server. upstream maps a provider to
// its upstream.
func watchAll(of *server.Config, upstream func(provider string) string) func(conversation.Event) {
	measured, ends, shown := of.History, of.Feed, NewTurnWatcher(Conversation, of.OnTurn)
	return func(e conversation.Event) {
		happened := EventOf(e)
		happened.Call.Upstream = upstream(happened.Call.Upstream)
		measured.WatchTurn(happened, e.Waited)
		ends.WatchTurn(happened, e.Waited)
		shown.Watch(e)
	}
}

// writeHistory writes the history to its file until the returned function is called, which calls end first. It
// starts when the directory is locked by this process or cannot be locked at all, and leaves the file alone if
// another process has the directory.
func writeHistory(ctx context.Context, opened *background.Store, measured *history.History, end func()) func() {
	stop := command.Background(context.WithoutCancel(ctx), func(ctx context.Context) {
		if err := opened.Wait(ctx); !errors.Is(err, store.ErrInUse) {
			measured.Persist(ctx)
		}
	})
	return func() { end(); stop() }
}

// Environment returns a function that applies the variables of the providers' own tools to a configuration.
func Environment(s command.Streams) func(config.Config) config.Config {
	return func(c config.Config) config.Config { return app.Environment(c, s.Env) }
}
