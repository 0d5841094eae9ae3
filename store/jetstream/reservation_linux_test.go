package jetstream_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// A full disk is waited for, whichever step it stops. Only root can mount one that is small enough to fill.
func TestReserve_FullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil { // a server that could not start leaves a file open
			t.Errorf("unmount: %v", err)
		}
	})
	c, filler := jetstream.Config{Dir: filepath.Join(dir, "store")}, filepath.Join(dir, "filler")
	fill := func() { _ = os.WriteFile(filler, bytes.Repeat([]byte("x"), 9<<20), 0o600) }
	fill()
	_, err := jetstream.Reserve(c)
	storetest.WantError(t, "reserve on a full disk", err, store.ErrFull)
	if err := os.Remove(filler); err != nil {
		t.Fatalf("free the disk: %v", err)
	}
	r := reserve(t, c)
	fill()
	_, err = r.Open(t.Context())
	storetest.WantError(t, "open on a full disk", err, store.ErrFull)
	if err := os.Remove(filler); err != nil {
		t.Fatalf("free the disk: %v", err)
	}
	r = reserve(t, c)
	if !r.Unused() {
		t.Error("a store that could not be opened is used, want it unused")
	}
	s, err := r.Open(t.Context())
	if err != nil {
		t.Fatalf("open when the disk is free again: %v", err)
	}
	closeStore(t, s)
}
