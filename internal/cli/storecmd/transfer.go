// Package storecmd has the commands about stored conversations and the
// installation: export, import, delete and doctor.
package storecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/store"
)

// Export returns the command `export`.
func Export(s command.Streams) *cobra.Command {
	c := &transferCmd{Flags: Flags{Streams: s}}
	snapshot := false
	cmd := &cobra.Command{
		Use:   "export [CONVERSATION…]",
		Short: "Export conversations as JSON lines",
		Long: "export prints conversations to standard output, the named ones or all, with all their records: messages,\n" +
			"answers, and the state of a turn in progress. `ridethrough import` reads them and resumes such turns, also\n" +
			"in another store, such as a cluster's. `ridethrough run --continue=FILE` continues an exported conversation.\n\n" +
			"While `ridethrough serve` uses the directory, the conversations come from it. To move them, stop it first:\n" +
			"both sides resume turns in progress.\n\n" +
			"A damaged conversation is reported and skipped, and the exit code is 1.\n\n" +
			"--snapshot copies the file of the store instead, as it is at one moment, also while it is written to. Such a\n" +
			"copy is a backup: named conversations.db in an empty directory, it is a store.",
		Example: "  ridethrough export > conversations.jsonl\n" +
			"  ridethrough export --snapshot > backup/conversations.db\n" +
			"  ridethrough export | ridethrough import --nats tls://nats.internal:4222",
		RunE: func(cmd *cobra.Command, args []string) error {
			do := func(ctx context.Context) error { return c.export(ctx, args) }
			if snapshot {
				if len(args) > 0 || command.IsTerminal(c.Streams.Out) {
					return errors.New("--snapshot copies all conversations into a file: ridethrough export --snapshot > conversations.db")
				}
				do = func(ctx context.Context) error { return c.place.snapshot(ctx, c.Streams.Out) }
			}
			return c.with(cmd.Context(), c.finder(c.OpenExisting), do)
		},
	}
	c.addFlags(cmd)
	cmd.Flags().BoolVar(&snapshot, "snapshot", false, "copy the file of the store instead, as it is at this moment")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "nats")
	return cmd
}

type transferCmd struct {
	Flags
	settings configflags.Flags // for the address of a server
	server   string            // of the flag
	place    place
	skipped  int // conversations that were skipped
}

func (c *transferCmd) addFlags(cmd *cobra.Command) {
	c.AddAll(cmd)
	c.settings.Streams = c.Streams
	c.settings.AddFile(cmd)
	cmd.Flags().StringVar(&c.server, "server", "", "`URL` of a running ridethrough serve whose conversations are meant [RIDETHROUGH_SERVER]")
	cmd.MarkFlagsMutuallyExclusive("server", "data", "nats")
}

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

func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *transferCmd) skip(err error) {
	c.skipped++
	fmt.Fprintln(c.Streams.Err, printable.Text(err.Error()))
}

func (c *transferCmd) export(ctx context.Context, ids []string) error {
	w, err := transfer.NewWriter(command.JSON(c.Streams.Out), time.Now())
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
			if err := w.Add(transfer.Conversation{ID: id, Records: records}); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// aboutOne reports whether an error concerns one conversation only, so that the command can continue with others.
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

// Delete returns the command `delete`.
func Delete(s command.Streams) *cobra.Command {
	c := &transferCmd{Flags: Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "delete CONVERSATION…",
		Short: "Delete conversations for good",
		Long: "delete removes the named conversations with all their records. A turn in progress stops. Export them first to\n" +
			"keep a copy: an id is not used again, so they can be imported into another store only.\n\n" +
			"While `ridethrough serve` uses the directory, it deletes them. It needs a token with the scope admin, if it\n" +
			"needs one.\n\n" +
			"A conversation that does not exist is reported and skipped, and the exit code is 1.",
		Example: "  ridethrough export c1 > c1.jsonl && ridethrough delete c1",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), c.finder(c.OpenExisting), func(ctx context.Context) error { return c.delete(ctx, args) })
		},
	}
	c.addFlags(cmd)
	return cmd
}

func (c *transferCmd) delete(ctx context.Context, ids []string) (err error) {
	deleted := 0
	for _, id := range ids {
		if err = c.place.delete(ctx, id); err != nil && !aboutOne(err) {
			break
		}
		if err == nil {
			deleted++
			continue
		}
		c.skip(fmt.Errorf("%s: %w", id, err))
		err = nil
	}
	fmt.Fprintf(c.Streams.Out, "%d deleted, %d skipped\n", deleted, c.skipped)
	return err
}

// Import returns the command `import`.
func Import(s command.Streams) *cobra.Command {
	c := &transferCmd{Flags: Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "import [FILE…]",
		Short: "Import conversations that were exported or saved",
		Long: "import reads the files of `ridethrough export` and `ridethrough run`, or standard input, and\n" +
			"adds their conversations to the store, which is created if necessary. Turns in progress resume\n" +
			"where they were; a turn that waits keeps the time of its next try.\n\n" +
			"Conversations that the store already has are skipped. One whose id belongs to another conversation, or was\n" +
			"deleted here, is reported and skipped, and the exit code is 1. An interrupted import can be repeated.\n\n" +
			"While `ridethrough serve` uses the directory, the conversations go to it, and turns in progress continue\n" +
			"at once. It needs a token with the scope admin, if it needs one.",
		Example: "  ridethrough import conversations.jsonl\n" +
			"  ridethrough import old.jsonl.gz --data /tmp/old",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && command.IsTerminal(s.In) {
				return errors.New("want a file or piped standard input; use - to type the input")
			}
			return c.with(cmd.Context(), c.finder(c.Open), func(ctx context.Context) error { return c.take(ctx, args) })
		},
	}
	c.addFlags(cmd)
	return cmd
}

type imported struct{ added, existing, inProgress int }

func (c *transferCmd) take(ctx context.Context, files []string) error {
	var sum imported
	if len(files) == 0 {
		files = []string{"-"}
	}
	var err error
	for _, name := range files {
		if err = c.takeFile(ctx, name, &sum); err != nil {
			break
		}
	}
	fmt.Fprintf(c.Streams.Out, "%d imported, %d unchanged, %d skipped\n", sum.added, sum.existing, c.skipped)
	if sum.inProgress > 0 {
		fmt.Fprintf(c.Streams.Out, "%d have a turn in progress, which `ridethrough serve` resumes\n", sum.inProgress)
	}
	return err
}

func (c *transferCmd) takeFile(ctx context.Context, name string, sum *imported) error {
	from, err := c.source(ctx, name)
	if err != nil {
		return err
	}
	defer from.Close()
	for one, err := range transfer.Read(from) {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := c.takeOne(ctx, one, sum); err != nil {
			return fmt.Errorf("%s: %w", one.ID, err)
		}
	}
	return nil
}

func (c *transferCmd) source(ctx context.Context, name string) (io.ReadCloser, error) {
	if name != "-" {
		return os.Open(name)
	}
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(context.Cause(ctx)) })
	go func() { // it may outlive the call, until the process ends
		_, err := io.Copy(w, c.Streams.In)
		_ = w.CloseWithError(err)
	}()
	return r, nil
}

// takeOne imports a conversation. It returns an error only if the import cannot continue with the next one.
func (c *transferCmd) takeOne(ctx context.Context, one transfer.Conversation, sum *imported) error {
	done, err := c.place.restore(ctx, one.ID, one.Records)
	switch {
	case err != nil && !aboutOne(err):
		return err
	case errors.Is(err, store.ErrDeleted):
		c.skip(fmt.Errorf("%s: was deleted from this store, so its id cannot be reused; import it into another store with --data", one.ID))
		return nil
	case err != nil:
		c.skip(err)
		return nil
	case done.Added == 0:
		sum.existing++
		return nil
	}
	sum.added++
	if done.InProgress {
		sum.inProgress++
	}
	return nil
}
