package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// Only root can mount a disk that is small enough to fill.
func TestAppend_FullDiskIsReadOnlyUntilThereIsSpace(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 0) })
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatalf("write ballast: %v", err)
	}
	c := bolt.Config{Dir: filepath.Join(disk, "store"), Reserve: 1}
	s := open(t, c)
	at := storetest.Append(t, s, "c1", store.Position{}, "first")
	storetest.Enqueue(t, s, storetest.Job("t1"))
	l := storetest.Take(t, subject(s))
	texts := []string{"first"}
	var err error
	for text := strings.Repeat("large ", 10<<10); err == nil; {
		var end store.Position
		if end, err = s.Append(t.Context(), "c1", at, storetest.Records(text)...); err == nil {
			at, texts = end, append(texts, text)
		}
	}
	storetest.WantError(t, "append on a full disk", err, store.ErrFull)
	storetest.WantLog(t, s, "c1", 0, numberedEach(texts)...)
	if err := os.Remove(ballast); err != nil {
		t.Fatalf("remove ballast: %v", err)
	}
	at = storetest.Append(t, s, "c1", at, "last")
	if err := l.Ack(); err != nil {
		t.Errorf("acknowledge when there is space: %v", err)
	}
	closeStore(t, s)
	s = open(t, c)
	storetest.WantLog(t, s, "c1", 0, numberedEach(append(texts, "last"))...)
	if end, err := s.End(t.Context(), "c1"); err != nil || end != at {
		t.Errorf("end: got %v, %v; want %v", end, err, at)
	}
}

// numberedEach returns records that were appended one by one.
func numberedEach(texts []string) (all []store.Record) {
	for i, text := range texts {
		all = append(all, storetest.Numbered(int64(i+1), text)...)
	}
	return all
}

// A new store on a full disk is refused, and created once there is space.
func TestOpen_OnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 0) })
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 52<<10), 0o600); err != nil {
		t.Fatalf("write ballast: %v", err)
	}
	c := bolt.Config{Dir: filepath.Join(disk, "store"), Reserve: 1}
	_, err := bolt.Open(t.Context(), c)
	storetest.WantError(t, "open", err, store.ErrFull)
	if err := os.Remove(ballast); err != nil {
		t.Fatalf("remove ballast: %v", err)
	}
	storetest.Append(t, open(t, c), "c1", store.Position{}, "a")
}

// New work is refused first, so that turns in progress can end.
func TestEnqueue_LeavesSpaceForTurnsInProgress(t *testing.T) {
	dir := t.TempDir()
	s := open(t, bolt.Config{Dir: dir, Reserve: 1})
	at := storetest.Append(t, s, "c1", store.Position{}, "a")
	closeStore(t, s)
	s = open(t, bolt.Config{Dir: dir, Reserve: 1 << 60})
	_, err := s.Append(t.Context(), "c2", store.Position{}, storetest.Records("a")...)
	storetest.WantError(t, "first append", err, store.ErrFull)
	storetest.WantError(t, "enqueue", s.Enqueue(t.Context(), storetest.Job("t1")), store.ErrFull)
	storetest.Append(t, s, "c1", at, "b")
	for _, at := range []time.Time{time.Now().Add(-time.Hour), time.Now().Add(time.Hour)} {
		if err := s.Schedule(t.Context(), storetest.Job("t1"), at); err != nil {
			t.Errorf("schedule: got error %v, want none", err)
		}
	}
	h, err := s.Health(t.Context())
	if err != nil || !h.Full || len(h.Warnings) == 0 || errors.Is(err, store.ErrFull) {
		t.Errorf("health: got %+v, %v; want that the store is full", h, err)
	}
}
