package config

import (
	"context"
	"os"
	"time"
)

// every is how often a file is looked at. Looking works everywhere, also where
// a folder is mounted or the file is a link that is exchanged.
const every = time.Second

// Watch calls changed whenever the file is another than before and stays so for
// a second, since whoever writes it may not be done, and whenever asked brings
// something. It returns when ctx ends.
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

// glance is what a file looked like.
type glance struct{ info os.FileInfo } // nil: there is none

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
