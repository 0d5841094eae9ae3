// Package storecmd has the commands about stored conversations and the
// installation: export, import, archive and doctor.
package storecmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/store"
)

func Export(s command.Streams) *cobra.Command {
	c := &transferCmd{Flags: storeflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "export [CONVERSATION…]",
		Short: "Write conversations as lines of JSON",
		Long: "export writes conversations to standard output, those that are named or all, each with all of its\n" +
			"records: what was said and answered, and how far a turn has come that is under way. `ridethrough\n" +
			"import` takes them in, and has such a turn go on. That is also the way from a directory into a\n" +
			"cluster and back. End `ridethrough serve` before, or both sides go on.\n\n" +
			"A conversation that is damaged is named and left out, and the exit code is 1.",
		Example: "  ridethrough export > conversations.jsonl\n" +
			"  ridethrough export | ridethrough import --nats tls://nats.internal:4222",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), c.OpenExisting, func(ctx context.Context) error { return c.export(ctx, args) })
		},
	}
	c.AddAll(cmd)
	return cmd
}

// transferCmd is a command that carries conversations from one place to another.
type transferCmd struct {
	storeflags.Flags
	engine store.Store
	host   *conversation.Runner // only for what it knows of logs: it works on no turn
	bad    int                  // conversations that were not carried
}

// with does something with a store.
func (c *transferCmd) with(ctx context.Context, open func(context.Context, *slog.Logger) (store.Store, error), do func(context.Context) error) (err error) {
	log := command.Logger(c.Streams.Err, slog.LevelWarn)
	if c.engine, err = open(ctx, log); err != nil {
		return err
	}
	defer func() {
		if closed := c.engine.Close(context.WithoutCancel(ctx)); err == nil {
			err = command.Failed(closed)
		}
	}()
	c.host = conversation.New(conversation.Config{Store: c.engine, Log: log})
	if c.URL() == "" { // nobody else works here
		if err := c.host.RecordQueued(ctx); err != nil {
			return command.Failed(stopped(ctx, err))
		}
	}
	if err := do(ctx); err != nil {
		return command.Failed(stopped(ctx, err))
	}
	if c.bad > 0 {
		return command.WithCode(command.Reported{}, command.ExitFailed)
	}
	return nil
}

// stopped gives the reason why ctx has ended, if it has, or else an error.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// leave says why a conversation is not carried; the others are.
func (c *transferCmd) leave(err error) {
	c.bad++
	fmt.Fprintln(c.Streams.Err, display.Sanitize(err.Error()))
}

// export writes conversations.
func (c *transferCmd) export(ctx context.Context, ids []string) error {
	w, err := archive.NewWriter(c.Streams.Out, time.Now())
	if err != nil {
		return err
	}
	for id, err := range c.chosen(ctx, ids) {
		var records []store.Record
		if err == nil {
			records, _, err = store.Load(ctx, c.engine, id, 0)
		}
		switch {
		case err != nil && !aboutOne(err):
			return err
		case err != nil:
			c.leave(err)
		case len(records) == 0:
			c.leave(fmt.Errorf("%w: %s", conversation.ErrNotFound, id))
		default:
			if err := w.Add(archive.Conversation{ID: id, Records: records}); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// aboutOne tells whether an error is about one conversation, so that others can
// be gone on with.
func aboutOne(err error) bool {
	if _, ok := errors.AsType[*store.Damage](err); ok {
		return true
	}
	for _, one := range []error{store.ErrDeleted, store.ErrInvalid, store.ErrConflict, conversation.ErrExists, conversation.ErrNotFound} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// chosen gives the ids that were named, or all there are.
func (c *transferCmd) chosen(ctx context.Context, ids []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
		if len(ids) > 0 {
			return
		}
		for head, err := range archive.All(ctx, c.engine) {
			if !yield(head.ID, err) {
				return
			}
		}
	}
}
