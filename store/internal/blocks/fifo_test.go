//go:build unix

package blocks_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/store/internal/blocks"
)

func TestInspect_RefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "1.blk"), 0o600); err != nil {
		t.Fatalf("make a FIFO: %v", err)
	}
	if _, err := blocks.Inspect(t.Context(), dir, format, nil); err == nil { // opening it would wait for a writer
		t.Error("inspect a FIFO: got no error")
	}
}
