//go:build unix

package disk_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/internal/disk"
)

// A program that is being started has all open files of this one until it runs.
func TestUnlock_ReleasesThoughAnotherHasTheFile(t *testing.T) {
	dir := t.TempDir()
	lock := func() *os.File {
		t.Helper()
		f, err := disk.Lock(dir, os.O_CREATE)
		if err != nil {
			t.Fatalf("lock: %v", err)
		}
		return f
	}
	first := lock()
	inherited, err := syscall.Dup(int(first.Fd()))
	if err != nil {
		t.Fatalf("dup: %v", err)
	}
	defer syscall.Close(inherited)
	if _, err := disk.Lock(dir, 0); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("lock a locked directory: %v, want %v", err, disk.ErrLocked)
	}
	if err := disk.Unlock(first); err != nil {
		t.Fatalf("unlock: %v", err)
	}
	if err := disk.Unlock(lock()); err != nil {
		t.Fatalf("unlock again: %v", err)
	}
}
