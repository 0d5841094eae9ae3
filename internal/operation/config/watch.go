package config

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/reload"
)

// pollInterval is the interval between two checks of a file. Polling also works with
// mounted directories and replaced links.
const pollInterval = time.Second

// Watch calls changed whenever the file has changed and then stayed the same for a
// second, and whenever asked receives a value. It returns when ctx ends.
func Watch[T any](ctx context.Context, name string, asked <-chan T, changed func()) {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	known := reload.Stat(name)
	before := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			known = reload.Stat(name)
			before = known
			changed()
		case <-t.C:
			now := reload.Stat(name)
			if !reload.Same(now, known) && reload.Same(now, before) {
				known = now
				changed()
			}
			before = now
		}
	}
}
