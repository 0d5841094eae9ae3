//go:build unix

package spool_test

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/internal/spool"
)

func TestSpool_FullDiskLeavesNothingHalfWritten(t *testing.T) {
	s := newSpool(t, spool.Limits{Memory: 1})
	defer limitFiles(t, 80<<10)()
	refuses(t, s, 200<<10, "file too large") // its first block is written whole
}

// limitFiles makes every write beyond a file size fail, as on a full disk, and returns a function that lifts the limit.
func limitFiles(t *testing.T, size uint64) func() {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Skip(err)
	}
	limit := before
	limit.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Errorf("setrlimit: %v", err)
		}
		signal.Reset(syscall.SIGXFSZ)
	}
}
