package storecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/store"
)

// place is where conversations are: a store, or a server that uses one.
type place interface {
	logs
	snapshot(context.Context, io.Writer) error // of the file that has all of them
	close(context.Context) error
}

type logs interface {
	all(context.Context) iter.Seq2[string, error] // the ids; errors about one are not last
	export(ctx context.Context, id string) ([]store.Record, error)
	restore(ctx context.Context, id string, records []store.Record) (api.Restored, error)
	delete(ctx context.Context, id string) error
}

type opener func(context.Context, *slog.Logger) (store.Store, error)

// finder returns a function that finds the place that flags and the environment name. For a directory in use by a
// server, the place is the server.
func (c *transferCmd) finder(open opener) func(context.Context) (place, error) {
	return func(ctx context.Context) (place, error) {
		base := c.Streams.Env("RIDETHROUGH_SERVER")
		if c.Named() {
			base = ""
		}
		if base = cmp.Or(c.server, base); base != "" {
			return c.asked(base), nil
		}
		p, err := c.local(ctx, open)
		if errors.Is(err, store.ErrInUse) {
			return c.holder(ctx, err)
		}
		return p, err
	}
}

func (c *transferCmd) asked(base string) remote {
	return remote{client.Client{Base: base, Token: c.Streams.Env("RIDETHROUGH_TOKEN")}}
}

// holder returns the server that uses the directory, as inUse says. It must be at the configured address; any other
// server is ignored.
func (c *transferCmd) holder(ctx context.Context, inUse error) (place, error) {
	conf, err := c.settings.Read()
	if err != nil {
		return nil, err
	}
	dir, err := c.Dir()
	if err != nil {
		return nil, err
	}
	base := conf.URL()
	server := c.asked(base)
	switch process, err := server.Process(ctx); {
	case err != nil:
		return nil, command.Failed(fmt.Errorf("%w (%w); --server names another", inUse, err))
	case process != disk.LockHolder(dir):
		return nil, command.Failed(fmt.Errorf("%w (the server at %s is another process); --server names another", inUse, base))
	}
	return server, nil
}

func (c *transferCmd) local(ctx context.Context, open opener) (local, error) {
	log := command.Logger(c.Streams.Err, slog.LevelWarn)
	s, err := open(ctx, log)
	if err != nil {
		return local{}, err
	}
	return local{s, conversation.New(conversation.Config{Store: s, Log: log})}, nil
}

// local is a store that this process has opened.
type local struct {
	store.Store
	runner *conversation.Runner // it reads logs and runs no turn
}

func (l local) all(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for head, err := range transfer.All(ctx, l.Store) {
			if !yield(head.ID, err) {
				return
			}
		}
	}
}

func (l local) export(ctx context.Context, id string) (records []store.Record, err error) {
	for r, err := range l.runner.Export(ctx, id) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

func (l local) restore(ctx context.Context, id string, records []store.Record) (done api.Restored, err error) {
	if done.Added, err = l.runner.Restore(ctx, id, records); err != nil {
		return done, err
	}
	v, err := l.runner.Get(ctx, id)
	return views.RestoredOf(done.Added, v), err
}

func (l local) delete(ctx context.Context, id string) error { return l.runner.Delete(ctx, id) }

func (l local) snapshot(ctx context.Context, w io.Writer) error {
	return l.Snapshot(ctx, func(f *os.File) error {
		_, err := io.Copy(w, f)
		return err
	})
}

func (l local) close(ctx context.Context) error { return l.Close(ctx) }

type remote struct{ client.Client }

func (r remote) all(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for v, err := range r.List(ctx) {
			if err != nil {
				err = fmt.Errorf("list the conversations: %v", err) // without its cause: it is about all that follow
			}
			if !yield(v.ID, err) {
				return
			}
		}
	}
}

func (r remote) export(ctx context.Context, id string) ([]store.Record, error) {
	return r.Export(ctx, id)
}

func (r remote) restore(ctx context.Context, id string, records []store.Record) (api.Restored, error) {
	return r.Import(ctx, id, records)
}

func (r remote) delete(ctx context.Context, id string) error { return r.Delete(ctx, id) }

func (r remote) snapshot(ctx context.Context, w io.Writer) error { return r.Snapshot(ctx, w) }

func (r remote) close(context.Context) error { return nil }
