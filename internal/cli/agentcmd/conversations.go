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

// Conversations returns the conversations and councils that `serve` has besides the gateway.
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
	w := app.Agents{Env: c.store.Streams.Env, Policy: from.Named, Watch: watchBoth(to.Feed, to.History)}
	to.Council = w.Councils()
	if c.store.URL() != "" {
		return c.attachNATS(ctx, to, w)
	}
	dir, named := c.dataDir()
	if dir == "" {
		return func() {}, nil
	}
	measured := history.Open(filepath.Join(dir, "history.json"), to.Log)
	w.Watch = watchBoth(to.Feed, measured)
	host, end, err := w.OpenDir(ctx, dir, to.Log)
	switch {
	case err != nil && named:
		return nil, err
	case err != nil:
		to.Log.Warn("conversations are off: cannot open their store", "error", err.Error(), "fix", "choose another directory with --data, or none")
		return func() {}, nil
	}
	to.Log.Info("conversations", "data", dir)
	to.Conversations, to.Settle, to.History = host, w.Validate, measured
	return writeHistory(ctx, measured, end), nil
}

// watchBoth returns a function that hands events of turns to both.
func watchBoth(feed *feed.Feed, measured *history.History) func(conversation.Event) {
	return func(e conversation.Event) {
		measured.WatchTurns(e)
		feed.WatchTurns(e)
	}
}

// writeHistory writes the history to its file until the returned function is called. It calls end first.
func writeHistory(ctx context.Context, measured *history.History, end func()) func() {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { measured.Persist(ctx) })
	return func() {
		end()
		stop()
		keeping.Wait()
	}
}

// attachNATS adds conversations that NATS servers store and that other processes may run as well.
func (c *conversations) attachNATS(ctx context.Context, to *server.Config, w app.Agents) (end func(), err error) {
	store, err := c.store.Open(ctx, to.Log)
	if err != nil {
		return nil, err
	}
	to.Conversations, end = w.Start(ctx, store, to.Log)
	to.Settle = w.Validate
	to.Log.Info("conversations", "data", "nats") // the URL may hold a secret
	return end, nil
}
