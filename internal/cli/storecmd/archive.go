package storecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/store"
)

func Archive(s command.Streams) *cobra.Command {
	c := &archiveCmd{transferCmd: transferCmd{Flags: storeflags.Flags{Streams: s}}}
	cmd := &cobra.Command{
		Use:   "archive --older-than AGE",
		Short: "Put conversations that have gone cold into files, and out of the store",
		Long: "archive writes each conversation in which nothing has happened for a while into a compressed file of\n" +
			"its own, named after its id. With --delete it then takes the conversation out of the store: once the\n" +
			"file is on the disk and has been read again and compared. One with a turn under way or an input that\n" +
			"waits stays where it is.\n\n" +
			"`ridethrough import` takes such files in, though not into the store that they were deleted from,\n" +
			"where their ids stay taken.",
		Example: "  ridethrough archive --older-than 30d --delete\n" +
			"  zcat ~/.local/share/ridethrough/archive/*.jsonl.gz | jq -r 'select(.type==\"user-message\").body.text'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.prepare(time.Now()); err != nil {
				return err
			}
			return c.with(cmd.Context(), c.OpenExisting, c.archive)
		},
	}
	c.AddAll(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.age, "older-than", "", "how long nothing has happened in them, such as 30d or 12h")
	flags.StringVar(&c.to, "to", "", "directory of the files; the default is archive in the directory of the store")
	flags.BoolVar(&c.delete, "delete", false, "take the conversations out of the store once their files are there")
	_ = cmd.MarkFlagRequired("older-than")
	return cmd
}

// archiveCmd is what `archive` was asked for.
type archiveCmd struct {
	transferCmd
	age, to string
	delete  bool

	now, before time.Time // what has happened last in a cold one was before
	files, gone int
	busy        int // cold, and something is under way
}

// prepare reads the flags.
func (c *archiveCmd) prepare(now time.Time) error {
	age, err := readAge(c.age)
	if err != nil {
		return fmt.Errorf("--older-than %q: want a time such as 30d or 12h", c.age)
	}
	c.now, c.before = now, now.Add(-age)
	if c.to == "" {
		dir, err := c.Dir()
		if err != nil {
			return err
		}
		if dir == storeflags.None {
			return errors.New("want --to DIR")
		}
		c.to = filepath.Join(dir, "archive")
	}
	return nil
}

// readAge reads a duration that may be in days.
func readAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	age, err := time.ParseDuration(text)
	if age < 0 {
		err = errors.New("below zero")
	}
	return age, err
}

// archive archives all that are cold.
func (c *archiveCmd) archive(ctx context.Context) error {
	err := c.each(ctx)
	fmt.Fprintf(c.Streams.Out, "%d written to %s, %d taken out of the store\n", c.files, c.to, c.gone)
	if c.busy > 0 {
		fmt.Fprintf(c.Streams.Out, "%d are as old and stay, because something is under way in them\n", c.busy)
	}
	return err
}

func (c *archiveCmd) each(ctx context.Context) error {
	for head, err := range archive.All(ctx, c.engine) {
		if err == nil && head.Last.Time.Before(c.before) {
			err = c.one(ctx, head.ID)
		}
		switch {
		case err != nil && (aboutOne(err) || errors.Is(err, archive.ErrOther)):
			c.leave(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// one archives a conversation, unless something is under way in it.
func (c *archiveCmd) one(ctx context.Context, id string) error {
	records, end, err := store.Load(ctx, c.engine, id, 0)
	if err != nil {
		return err
	}
	switch v, err := c.host.Get(ctx, id); {
	case errors.Is(err, conversation.ErrNotFound):
		return nil // somebody else's
	case err != nil:
		return err
	case v.Turn != "" || len(v.Inputs) > 0 || v.Last != end.N:
		c.busy++
		return nil
	}
	if _, err := archive.Save(c.to, archive.Conversation{ID: id, Records: records}, c.now); err != nil {
		return err
	}
	c.files++
	if !c.delete {
		return nil
	}
	if is, err := c.engine.End(ctx, id); err != nil || is != end { // somebody has gone on with it meanwhile
		return cmp.Or(err, fmt.Errorf("%w: %s", store.ErrConflict, id))
	}
	if err := c.host.Delete(ctx, id); err != nil {
		return err
	}
	c.gone++
	return nil
}
