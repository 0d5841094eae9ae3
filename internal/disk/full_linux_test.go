package disk_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/internal/disk"
)

// Only root can mount a disk that is small enough to fill.
func TestWrite_FullDiskKeepsTheFormerContent(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	path := filepath.Join(dir, "file")
	write(t, path, "former", 0o644)
	if err := disk.Write(path, bytes.Repeat([]byte("x"), 1<<20)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write: got error %v, want %v", err, syscall.ENOSPC)
	}
	wantFile(t, path, "former", 0o644)
	wantNames(t, dir, "file")
}
