package storecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/store"
)

// Import returns the command `import`.
func Import(s command.Streams) *cobra.Command {
	c := &transferCmd{Flags: storeflags.New(s)}
	cmd := &cobra.Command{
		Use:   "import [FILE…]",
		Short: "Import conversations that were exported, archived or saved",
		Long: "import reads the files of `ridethrough export`, `ridethrough archive` and `ridethrough run`, or standard\n" +
			"input, and adds their conversations to the store, which is created if necessary. Turns in progress resume\n" +
			"where they were; a turn that waits keeps the time of its next try.\n\n" +
			"Conversations that the store already has are skipped. One whose id belongs to another conversation, or was\n" +
			"deleted here, is reported and skipped, and the exit code is 1. An interrupted import can be repeated.\n\n" +
			"While `ridethrough serve` uses the directory, the conversations go to it, and turns in progress go on there\n" +
			"at once. It needs a token with the scope admin, if it needs one.",
		Example: "  ridethrough import conversations.jsonl\n" +
			"  ridethrough import ~/.local/share/ridethrough/archive/*.jsonl.gz --data /tmp/old",
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

// imported counts conversations.
type imported struct{ added, existing, inProgress int }

// take imports the conversations of files, or of standard input.
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
	for one, err := range archive.Read(from) {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := c.takeOne(ctx, one, sum); err != nil {
			return fmt.Errorf("%s: %w", one.ID, err)
		}
	}
	return nil
}

// source opens a file, or standard input until ctx ends.
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

// takeOne imports a conversation. It returns an error if no other one can be imported either.
func (c *transferCmd) takeOne(ctx context.Context, one archive.Conversation, sum *imported) error {
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
