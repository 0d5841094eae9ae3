// Package chat stores the conversations of terminals in one of two places. A [Folder] is on this
// machine: each conversation has a store of its own, so that any number of terminals run side by
// side. A [Server] is a running server. Package tui shows both alike.
package chat

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

// maxTitle is the longest title that is made of a prompt, in characters.
const maxTitle = 60

// titled makes the first prompt the title of a conversation that has none.
type titled struct {
	tui.Conversation
	done atomic.Bool // the conversation has a title
}

// Do sets the title after the first prompt. A title that cannot be set is no error.
func (t *titled) Do(ctx context.Context, c tui.Command) error {
	if err := t.Conversation.Do(ctx, c); err != nil {
		return err
	}
	if send, ok := c.(tui.Send); ok && !t.done.Load() {
		t.done.Store(t.setTitle(ctx, send.Text) == nil)
	}
	return nil
}

func (t *titled) setTitle(ctx context.Context, prompt string) error {
	v, err := t.Get(ctx)
	if err != nil || v.Settings.Title != "" {
		return err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	v.Settings.Title = printable.Truncate(first, maxTitle)
	return t.Do(ctx, tui.Change{Settings: v.Settings})
}
