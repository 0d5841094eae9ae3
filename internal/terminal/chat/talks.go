// Package talks keeps the conversations that people have in terminals, in one of
// two places: [Folder] is on this machine, where each has a store of its own, so
// that any number of terminals run side by side; [Server] is a running server.
// Package tui shows them and does not know which it is.
package chat

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

// titleBound is how long the title of a conversation may become by itself, in
// characters.
const titleBound = 60

// titled makes what is said first the title of a conversation that has none.
type titled struct {
	tui.Conversation
	done atomic.Bool // it has one
}

// Say says something, and then sees to the title: without one everything works.
func (t *titled) Say(ctx context.Context, id, text string) (string, error) {
	turn, err := t.Conversation.Say(ctx, id, text)
	if err != nil || t.done.Load() {
		return turn, err
	}
	v, err := t.Get(ctx)
	if err != nil {
		return turn, nil
	}
	if v.Settings.Title == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		v.Settings.Title = display.Truncate(first, titleBound)
		err = t.Change(ctx, v.Settings)
	}
	t.done.Store(err == nil)
	return turn, nil
}
