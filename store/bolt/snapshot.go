package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ridethrough/ridethrough/store"
)

// Snapshot implements [store.Lifecycle]. Writers continue meanwhile, unless the file outgrows its map.
func (s *boltStore) Snapshot(ctx context.Context, use func(*os.File) error) (err error) {
	if err := s.begin(ctx, nil); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.config.Dir, "copy-*")
	if err != nil {
		return annotate("copy the file", translate(err))
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	err = s.view(func(o file) error {
		if free, err := freeBytes(s.config.Dir); err == nil && free-o.tx.Size() < s.config.Reserve {
			return fmt.Errorf("%w: there are %d MiB free, and a copy takes %d", store.ErrFull, free>>20, o.tx.Size()>>20)
		}
		_, err := o.tx.WriteTo(f)
		return err
	})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return annotate("copy the file", err)
	}
	return use(f)
}

// removeUnfinished removes what a process that was killed has left beside the file.
func removeUnfinished(dir string) (err error) {
	for _, pattern := range []string{"copy-*", "sync-*"} {
		left, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is a right one
		for _, path := range left {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}
