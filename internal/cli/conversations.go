package cli

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server"
)

// dataDir gives the directory of the conversations, and whether somebody has
// named it; "": there is none.
func (c *serving) dataDir() (dir string, named bool) {
	named = c.storing.dir != "" || c.s.Env("RIDETHROUGH_DATA") != ""
	dir, err := c.storing.place()
	if err != nil || dir == nowhere {
		return "", named
	}
	return dir, named
}

// converse adds the conversations, and councils, to what is served. Where nobody has asked for
// them, a gateway without them is better than none.
func (c *serving) converse(ctx context.Context, to *server.Config, from *config.Config) (end func(), err error) {
	to.History = history.Open("", to.Log)
	w := app.Worlds{Env: c.s.Env, Policy: from.Named, Watch: watching(to.Feed, to.History)}
	to.Council = w.Councils()
	if c.storing.url() != "" {
		return c.converseOn(ctx, to, w)
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
func watching(feed *server.Feed, measured *history.History) func(conversation.Event) {
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
func (c *serving) converseOn(ctx context.Context, to *server.Config, w app.Worlds) (end func(), err error) {
	store, err := c.storing.open(ctx, to.Log)
	if err != nil {
		return nil, err
	}
	to.Conversations, end = w.On(ctx, store, to.Log)
	to.Settle = w.Settle
	to.Log.Info("conversations", "data", "nats") // the URL may hold a secret
	return end, nil
}
