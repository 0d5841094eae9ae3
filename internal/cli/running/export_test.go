package running

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Cockpit returns the screen of `waits --watch` of a size.
func Cockpit(ctx context.Context, g Gateway, width, height int) tea.Model {
	return &cockpit{gateway: g, ctx: ctx, width: width, height: height}
}

// Waited is how long a wait has lasted, as it is listed.
func Waited(w Wait, now time.Time) string { return waited(w, now) }
