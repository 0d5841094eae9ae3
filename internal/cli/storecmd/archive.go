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
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/store"
)

// Archive returns the command `archive`.
func Archive(s command.Streams) *cobra.Command {
	c := &archiveCmd{transferCmd: transferCmd{Flags: storeflags.New(s)}}
	cmd := &cobra.Command{
		Use:   "archive --older-than AGE",
		Short: "Move old conversations from the store to files",
		Long: "archive writes each conversation without recent activity to a compressed file of its own, named after\n" +
			"its id. With --delete, it deletes the conversation from the store after the file was written and verified.\n" +
			"Conversations with a turn in progress or a queued input are skipped.\n\n" +
			"`ridethrough import` reads these files, but not into the store that the conversations were deleted from,\n" +
			"where their ids cannot be reused.",
		Example: "  ridethrough archive --older-than 30d --delete\n" +
			"  zcat ~/.local/share/ridethrough/archive/*.jsonl.gz | jq -r 'select(.type==\"user-message\").body.text'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.prepare(time.Now()); err != nil {
				return err
			}
			return c.with(cmd.Context(), c.open, c.archive)
		},
	}
	c.AddAll(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.age, "older-than", "", "the time since the last activity, such as 30d or 12h")
	flags.StringVar(&c.to, "to", "", "the `DIR` of the files (default archive in the data directory)")
	flags.BoolVar(&c.delete, "delete", false, "delete the conversations from the store after writing their files")
	_ = cmd.MarkFlagRequired("older-than")
	return cmd
}

// archiveCmd is a call of `archive`.
type archiveCmd struct {
	transferCmd
	at      local
	age, to string
	delete  bool

	now, before time.Time // the last activity of an old conversation is before it
	files, gone int
	busy        int // old conversations that are in use
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
		if dir == datadir.None {
			return errors.New("without a data directory, --to is required")
		}
		c.to = filepath.Join(dir, "archive")
	}
	return nil
}

// open opens the store.
func (c *archiveCmd) open(ctx context.Context) (p place, err error) {
	c.at, err = c.local(ctx, c.OpenExisting)
	return c.at, err
}

// readAge reads a duration, which may be in days.
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

// archive archives all old conversations.
func (c *archiveCmd) archive(ctx context.Context) error {
	err := c.each(ctx)
	fmt.Fprintf(c.Streams.Out, "%d archived in %s, %d deleted from the store\n", c.files, c.to, c.gone)
	if c.busy > 0 {
		fmt.Fprintf(c.Streams.Out, "%d skipped, because they are in use\n", c.busy)
	}
	return err
}

func (c *archiveCmd) each(ctx context.Context) error {
	for head, err := range archive.All(ctx, c.at) {
		if err == nil && head.Last.Time.Before(c.before) {
			err = c.one(ctx, head.ID)
		}
		switch {
		case err != nil && (aboutOne(err) || errors.Is(err, archive.ErrOther)):
			c.skip(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// one archives a conversation that is not in use.
func (c *archiveCmd) one(ctx context.Context, id string) error {
	records, end, err := store.Load(ctx, c.at, id, 0)
	if err != nil {
		return err
	}
	switch v, err := c.at.runner.Get(ctx, id); {
	case errors.Is(err, conversation.ErrNotFound):
		return nil // not a conversation of ours
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
	if is, err := c.at.End(ctx, id); err != nil || is != end { // it was continued meanwhile
		return cmp.Or(err, fmt.Errorf("%w: %s", store.ErrConflict, id))
	}
	if err := c.at.runner.Delete(ctx, id); err != nil {
		return err
	}
	c.gone++
	return nil
}
