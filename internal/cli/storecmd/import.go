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

func Import(s command.Streams) *cobra.Command {
	c := &transferCmd{Flags: storeflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "import [FILE…]",
		Short: "Take in conversations that were exported or archived",
		Long: "import reads what `ridethrough export` and `ridethrough archive` have written, from files or from\n" +
			"standard input, and takes the conversations into the store, which is made if there is none. Turns\n" +
			"that were under way go on where they were, and wait until the same instant if they wait.\n\n" +
			"A conversation that is there already and has everything is passed over. One whose id is taken by\n" +
			"another one, or was deleted here, is named and left out, and the exit code is 1. An import that\n" +
			"broke off can be done again.",
		Example: "  ridethrough import conversations.jsonl\n" +
			"  ridethrough import ~/.local/share/ridethrough/archive/*.jsonl.gz --data /tmp/old",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && command.IsTerminal(s.In) {
				return errors.New("want a file, or standard input connected to something; - is the terminal")
			}
			return c.with(cmd.Context(), c.Open, func(ctx context.Context) error { return c.take(ctx, args) })
		},
	}
	c.AddAll(cmd)
	return cmd
}

// taken is what an import comes to.
type taken struct{ fresh, same, underWay int }

// take takes in the conversations of files, or of standard input.
func (c *transferCmd) take(ctx context.Context, files []string) error {
	var sum taken
	if len(files) == 0 {
		files = []string{"-"}
	}
	var err error
	for _, name := range files {
		if err = c.takeFile(ctx, name, &sum); err != nil {
			break
		}
	}
	fmt.Fprintf(c.Streams.Out, "%d taken in, %d there already, %d left out\n", sum.fresh, sum.same, c.bad)
	if sum.underWay > 0 {
		fmt.Fprintf(c.Streams.Out, "%d have a turn under way, which goes on where `ridethrough serve` runs on this store\n", sum.underWay)
	}
	return err
}

func (c *transferCmd) takeFile(ctx context.Context, name string, sum *taken) error {
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

// source opens a file, or standard input, which whoever waits for it can leave.
func (c *transferCmd) source(ctx context.Context, name string) (io.ReadCloser, error) {
	if name != "-" {
		return os.Open(name)
	}
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(context.Cause(ctx)) })
	go func() { // nothing else ends it; the process may do so before
		_, err := io.Copy(w, c.Streams.In)
		_ = w.CloseWithError(err)
	}()
	return r, nil
}

// takeOne takes in a conversation. The error says that no other can be taken
// in either.
func (c *transferCmd) takeOne(ctx context.Context, one archive.Conversation, sum *taken) error {
	added, err := c.host.Restore(ctx, one.ID, one.Records)
	switch {
	case err != nil && !aboutOne(err):
		return err
	case errors.Is(err, store.ErrDeleted):
		c.leave(fmt.Errorf("%s: it was deleted here, and its id stays taken: take it into another store with --data", one.ID))
		return nil
	case err != nil:
		c.leave(err)
		return nil
	case added == 0:
		sum.same++
		return nil
	}
	sum.fresh++
	if v, err := c.host.Get(ctx, one.ID); err == nil && (v.Turn != "" || len(v.Inputs) > 0) {
		sum.underWay++
	}
	return nil
}
