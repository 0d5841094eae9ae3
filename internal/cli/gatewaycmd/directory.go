package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/internal/lockfile"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/audit"
)

// Directory returns the extension of a `serve` without conversations: it keeps the gateway's history in a directory.
func Directory(s command.Streams) Extension {
	return &directory{datadir.Flags{Streams: s}}
}

// directory has the flag; its AddFlags is that of the commands with a store.
type directory struct{ datadir.Flags }

// Attach reads the history and writes it from then on. While another process has the directory, nothing is kept.
func (d *directory) Attach(ctx context.Context, to *server.Config, _ func() *config.Config, _ classify.Classifier) (detach func(), err error) {
	dir, err := d.Dir()
	if err != nil || dir == datadir.None {
		return func() {}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, command.Failed(err)
	}
	lock, err := lockfile.Acquire(dir, os.O_CREATE)
	if errors.Is(err, lockfile.ErrLocked) {
		to.Log.Warn("the history is not kept: another process has the data directory", "dir", dir, "process", lockfile.Holder(dir))
		return func() {}, nil
	}
	if err != nil {
		return nil, command.Failed(fmt.Errorf("data directory: %w", err))
	}
	to.History, to.Audit = OpenRecords(dir, to)
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { to.History.Persist(ctx) })
	return func() {
		stop()
		keeping.Wait()
		to.Audit.Close()
		_ = lock.Close()
	}, nil
}

// OpenRecords opens what a gateway keeps in its directory: its history, and its log of what operators did.
func OpenRecords(dir string, to *server.Config) (*history.History, *audit.Log) {
	return history.Open(filepath.Join(dir, "history.json"), to.Log), audit.Open(filepath.Join(dir, "audit.jsonl"), to.Log)
}
