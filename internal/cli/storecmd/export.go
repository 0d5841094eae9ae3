// Package storecmd has the commands about stored conversations and the
// installation: export, import, archive and doctor.
package storecmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/store"
)

// Export returns the command `export`.
func Export(s command.Streams) *cobra.Command {
	c := &transferCmd{Flags: storeflags.New(s)}
	cmd := &cobra.Command{
		Use:   "export [CONVERSATION…]",
		Short: "Export conversations as JSON lines",
		Long: "export prints conversations to standard output, the named ones or all, with all their records: messages,\n" +
			"answers, and the state of a turn in progress. `ridethrough import` reads them and resumes such turns, also\n" +
			"in another store, such as a cluster's. `ridethrough run --continue=FILE` continues an exported conversation.\n\n" +
			"While `ridethrough serve` uses the directory, the conversations come from it. To move them, stop it first:\n" +
			"both sides resume turns in progress.\n\n" +
			"A damaged conversation is reported and skipped, and the exit code is 1.",
		Example: "  ridethrough export > conversations.jsonl\n" +
			"  ridethrough export | ridethrough import --nats tls://nats.internal:4222",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), c.finder(c.OpenExisting), func(ctx context.Context) error { return c.export(ctx, args) })
		},
	}
	c.addFlags(cmd)
	return cmd
}

// transferCmd is a call of a command that moves conversations out of or into a store.
type transferCmd struct {
	storeflags.Flags
	settings configflags.Flags // for the address of a server
	server   string            // of the flag
	place    place
	skipped  int // conversations that were skipped
}

// addFlags adds the flags of a command that may use a server.
func (c *transferCmd) addFlags(cmd *cobra.Command) {
	c.AddAll(cmd)
	c.settings.Streams = c.Streams
	c.settings.AddFile(cmd)
	cmd.Flags().StringVar(&c.server, "server", "", "`URL` of a running ridethrough serve whose conversations are meant [RIDETHROUGH_SERVER]")
	cmd.MarkFlagsMutuallyExclusive("server", "data", "nats")
}

// with finds the place of the conversations and calls do.
func (c *transferCmd) with(ctx context.Context, find func(context.Context) (place, error), do func(context.Context) error) (err error) {
	if c.place, err = find(ctx); err != nil {
		return err
	}
	defer func() {
		if closed := c.place.close(context.WithoutCancel(ctx)); err == nil {
			err = command.Failed(closed)
		}
	}()
	if err := do(ctx); err != nil {
		return command.Failed(stopped(ctx, err))
	}
	if c.skipped > 0 {
		return command.WithCode(command.Reported{}, command.ExitFailed)
	}
	return nil
}

// stopped returns the cause of ctx if it has ended, or else err.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// skip reports why a conversation is skipped.
func (c *transferCmd) skip(err error) {
	c.skipped++
	fmt.Fprintln(c.Streams.Err, printable.Text(err.Error()))
}

// export writes conversations.
func (c *transferCmd) export(ctx context.Context, ids []string) error {
	w, err := archive.NewWriter(command.JSON(c.Streams.Out), time.Now())
	if err != nil {
		return err
	}
	for id, err := range c.chosen(ctx, ids) {
		var records []store.Record
		if err == nil {
			records, err = c.place.export(ctx, id)
		}
		switch {
		case err != nil && !aboutOne(err):
			return err
		case err != nil:
			c.skip(err)
		default:
			if err := w.Add(archive.Conversation{ID: id, Records: records}); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// aboutOne reports whether an error is about one conversation only, so that the
// command can continue with others.
func aboutOne(err error) bool {
	if _, ok := errors.AsType[*store.Damage](err); ok {
		return true
	}
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == "damaged" {
		return true
	}
	for _, one := range []error{store.ErrDeleted, store.ErrInvalid, store.ErrConflict, conversation.ErrExists, conversation.ErrNotFound} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// chosen returns the ids in the arguments, or all ids.
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
		for id, err := range c.place.all(ctx) {
			if !yield(id, err) {
				return
			}
		}
	}
}
