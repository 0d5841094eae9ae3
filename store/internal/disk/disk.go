// Package disk has what a store must know of the disk under its directory.
package disk

import (
	"errors"
	"math"
	"os"
	"time"
)

// SyncLatency returns how long an fsync in dir takes at best.
func SyncLatency(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "sync-*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	best := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		if _, err := f.Write(make([]byte, 4<<10)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}
