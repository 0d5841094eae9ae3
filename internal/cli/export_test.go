package cli

import (
	"io"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/retry"
)

// Sentence is what the demo shows while a call waits.
func Sentence(n retry.Note, left time.Duration, now time.Time, width int) string {
	return sentence(n, left, now, width)
}

// Recovered is the line that ends a wait well.
func Recovered(n retry.Note) string { return recovered(n) }

// LiveScreen is a screen on a terminal that has colors.
func LiveScreen(w io.Writer) interface {
	Print(text string)
	Set(status string)
} {
	return live{&screen{w: w, live: true, color: true}}
}

type live struct{ s *screen }

func (l live) Print(text string) { l.s.print("", "%s", text) }
func (l live) Set(status string) { l.s.set(status) }

// NewInbox makes an inbox.
func NewInbox(open func(gateway.Event)) *inbox { return newInbox(open) }

// Close closes it.
func (b *inbox) Close() { b.close() }
