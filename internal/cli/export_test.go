package cli

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/store"
)

// LiveScreen is a screen on a terminal that has colors.
func LiveScreen(w io.Writer) interface {
	Print(text string)
	Set(status string)
	Rows(texts ...string)
} {
	return live{&screen{w: w, live: true, color: true}}
}

type live struct{ s *screen }

func (l live) Print(text string) { l.s.print("", "%s", text) }
func (l live) Set(status string) { l.s.set(status) }
func (l live) Rows(texts ...string) {
	var rows []row
	for _, t := range texts {
		rows = append(rows, row{"", t})
	}
	l.s.rows(rows...)
}

// NewInbox makes an inbox.
func NewInbox(open func(gateway.Event)) *inbox { return newInbox(open) }

// Close closes it.
func (b *inbox) Close() { b.close() }

// Open opens a store as a command with these flags does; must: it has to be
// there.
func Open(ctx context.Context, env func(string) string, must bool, flags ...string) (store.Store, error) {
	o := storing{s: Streams{Env: env}}
	var e store.Store
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) (err error) {
		open := o.open
		if must {
			open = o.existing
		}
		e, err = open(ctx, slog.New(slog.DiscardHandler))
		return err
	}}
	o.flags(cmd)
	cmd.SetArgs(flags)
	return e, cmd.Execute()
}

// Table shows a council on a terminal that has colors and 80 columns.
func Table(out, errs io.Writer, judged, answers bool) func(council.Event) {
	shown := &text{out: out, screen: &screen{w: errs, live: true, color: true}, unread: func() {}, goOn: func() string { return "" }}
	return (&table{text: shown, judged: judged, answers: answers}).show
}
