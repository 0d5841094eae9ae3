package config

import (
	"context"
	"os"
	"time"
)

// pollInterval is the interval between two checks of a file. Polling also works with
// mounted directories and replaced links.
const pollInterval = time.Second

// Watch calls changed whenever the file has changed and then stayed the same for a
// second, and whenever asked receives a value. It returns when ctx ends.
func Watch[T any](ctx context.Context, name string, asked <-chan T, changed func()) {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	known := statFile(name)
	before := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			known = statFile(name)
			before = known
			changed()
		case <-t.C:
			now := statFile(name)
			if !now.same(known) && now.same(before) {
				known = now
				changed()
			}
			before = now
		}
	}
}

// fileState is the state of a file.
type fileState struct{ info os.FileInfo } // nil: it does not exist

func statFile(name string) fileState {
	info, err := os.Stat(name)
	if err != nil {
		return fileState{}
	}
	return fileState{info}
}

func (g fileState) same(other fileState) bool {
	if g.info == nil || other.info == nil {
		return g.info == nil && other.info == nil
	}
	return unchanged(g.info, other.info)
}
