package config

import (
	"context"
	"os"
	"time"
)

// every is the interval between two checks of a file. Polling also works with
// mounted directories and replaced links.
const every = time.Second

// Watch calls changed whenever the file has changed and then stayed the same for a
// second, and whenever asked receives a value. It returns when ctx ends.
func Watch[T any](ctx context.Context, name string, asked <-chan T, changed func()) {
	t := time.NewTicker(every)
	defer t.Stop()
	known := look(name)
	before := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			known = look(name)
			before = known
			changed()
		case <-t.C:
			now := look(name)
			if !now.same(known) && now.same(before) {
				known = now
				changed()
			}
			before = now
		}
	}
}

// glance is the state of a file.
type glance struct{ info os.FileInfo } // nil: it does not exist

func look(name string) glance {
	info, err := os.Stat(name)
	if err != nil {
		return glance{}
	}
	return glance{info}
}

func (g glance) same(other glance) bool {
	if g.info == nil || other.info == nil {
		return g.info == nil && other.info == nil
	}
	return same(g.info, other.info)
}
