package agentcmd

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/feed"
)

// Conversations returns the conversations and councils that `serve` has besides
// the gateway.
func Conversations(s command.Streams) gatewaycmd.Extension {
	return &conversations{store: storeflags.Flags{Streams: s}}
}

// conversations are those of `serve`.
type conversations struct{ store storeflags.Flags }

// AddFlags adds the flags that say where they are stored.
func (c *conversations) AddFlags(cmd *cobra.Command) { c.store.AddAll(cmd) }

// dataDir returns the directory of the conversations, "" for none, and reports
// whether the operator has named it.
func (c *conversations) dataDir() (dir string, named bool) {
	named = c.store.Data != "" || c.store.Streams.Env("RIDETHROUGH_DATA") != ""
	dir, err := c.store.Dir()
	if err != nil || dir == storeflags.None {
		return "", named
	}
	return dir, named
}

// Attach adds conversations and councils to what is served. If their default
// directory cannot be used, the gateway is served without them.
func (c *conversations) Attach(ctx context.Context, to *server.Config, from *config.Config) (end func(), err error) {
	w := app.Worlds{Env: c.store.Streams.Env, Policy: from.Named, Watch: watching(to.Feed, to.History)}
	to.Council = w.Councils()
	if c.store.URL() != "" {
		return c.attachCluster(ctx, to, w)
	}
	dir, named := c.dataDir()
	if dir == "" {
		return func() {}, nil
	}
	measured := history.Open(filepath.Join(dir, "history.json"), to.Log)
	w.Watch = watching(to.Feed, measured)
	host, end, err := w.Converse(ctx, dir, to.Log)
	switch {
	case err != nil && named:
		return nil, err
	case err != nil:
		to.Log.Warn("there are no conversations", "error", err.Error(), "do", "name another directory with --data, or none")
		return func() {}, nil
	}
	to.Log.Info("conversations", "data", dir)
	to.Conversations, to.Settle, to.History = host, w.Settle, measured
	return keeping(ctx, measured, end), nil
}

// watching tells both of what happens to turns.
func watching(feed *feed.Feed, measured *history.History) func(conversation.Event) {
	return func(e conversation.Event) {
		measured.WatchTurns(e)
		feed.WatchTurns(e)
	}
}

// keeping writes what is measured into its file until end is called and all is
// over that end ends.
func keeping(ctx context.Context, measured *history.History, end func()) func() {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { measured.Keep(ctx) })
	return func() {
		end()
		stop()
		keeping.Wait()
	}
}

// converseOn adds conversations that servers elsewhere keep, and on which other
// processes may work as well.
func (c *conversations) attachCluster(ctx context.Context, to *server.Config, w app.Worlds) (end func(), err error) {
	store, err := c.store.Open(ctx, to.Log)
	if err != nil {
		return nil, err
	}
	to.Conversations, end = w.On(ctx, store, to.Log)
	to.Settle = w.Settle
	to.Log.Info("conversations", "data", "nats") // the URL may hold a secret
	return end, nil
}
