package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/operation/turns"
	"github.com/ridethrough/ridethrough/internal/server"
	serverconversations "github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/internal/server/councils"
	"github.com/ridethrough/ridethrough/internal/server/description"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
)

// Conversations returns the conversations and councils that `serve` has besides the gateway.
func Conversations(s command.Streams) gatewaycmd.Extension {
	return &conversations{store: storeflags.New(s)}
}

// conversations are those of `serve`.
type conversations struct{ store storeflags.Flags }

// AddFlags adds the flags that say where they are stored.
func (c *conversations) AddFlags(cmd *cobra.Command) { c.store.AddAll(cmd) }

// dataDir returns the directory of the conversations; "": there is none.
func (c *conversations) dataDir() string {
	dir, err := c.store.Dir()
	if c.store.URL() != "" || err != nil || dir == datadir.None {
		return ""
	}
	return dir
}

// Attach adds conversations and councils to what is served. The conversations answer that they are
// unavailable until their store is open, which the gateway does not wait for.
func (c *conversations) Attach(ctx context.Context, to *server.Config, conf func() *config.Config, faults classify.Classifier) (end func(), err error) {
	c.store.Replicas = conf().Replicas
	dir := c.dataDir()
	if dir != "" {
		to.History, to.Audit = gatewaycmd.OpenRecords(dir, to)
	}
	w := app.Agents{Models: app.NewModels(c.store.Streams.Env, conf, faults), Watch: watchAll(to), Toolbox: c.toolbox(conf, to.Log)}
	watcher := turns.New(turns.Council, to.OnTurn)
	watcher.Group = to.Group
	to.OpenAPI = description.OpenAPI()
	council := &councils.API{New: w.Councils(), Watch: watcher.Members}
	if dir == "" && c.store.URL() == "" {
		to.Extensions = append(to.Extensions, council)
		return func() {}, nil
	}
	opened, err := c.store.OpenInBackground(to.Log)
	if err != nil {
		return nil, err
	}
	to.Log.Info("conversations", "data", cmp.Or(dir, "nats")) // the URL may hold a secret
	served := &serverconversations.API{Settle: w.Validate}
	served.Runner, end = w.Start(ctx, opened, to.Log)
	to.Conversations, to.Store = served, (&serverconversations.Health{Store: opened}).Current
	to.Extensions = append(to.Extensions, served, council)
	if dir == "" {
		name := cmp.Or(conf().Fleet, config.DefaultFleet)
		return keepHistory(ctx, to, name, opened, joinFleet(to, name, opened, end)), nil
	}
	stop := writeHistory(ctx, opened, to.History, end)
	return func() { stop(); to.Audit.Close() }, nil
}

// toolbox returns what opens the tools of agents.
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

// watchAll returns a function that hands events of turns to whatever of a server records them.
func watchAll(of *server.Config) func(conversation.Event) {
	measured, ends, shown := of.History, of.Feed, turns.New(turns.Conversation, of.OnTurn)
	return func(e conversation.Event) {
		happened := turns.Of(e)
		measured.WatchTurn(happened, e.Waited)
		ends.WatchTurn(happened, e.Waited)
		shown.Watch(e)
	}
}

// writeHistory writes the history to its file until the returned function is called, which calls end first.
// It begins when the directory is known to be this process's or of no use, and leaves the file alone if another
// process has it.
func writeHistory(ctx context.Context, opened *background.Store, measured *history.History, end func()) func() {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() {
		if err := opened.Available(ctx); !errors.Is(err, store.ErrInUse) {
			measured.Persist(ctx)
		}
	})
	return func() {
		end()
		stop()
		keeping.Wait()
	}
}

// Environment returns a function that adds what the variables of the providers' own tools say to a configuration.
func Environment(s command.Streams) func(config.Config) config.Config {
	return func(c config.Config) config.Config { return app.Environment(c, s.Env) }
}
