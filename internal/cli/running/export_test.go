package running

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// Cockpit returns the screen of `waits --watch` of a size.
func Cockpit(ctx context.Context, g Gateway, width, height int) tea.Model {
	return &cockpit{gateway: g, ctx: ctx, width: width, height: height}
}
