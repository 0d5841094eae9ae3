package bolt_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// snapshot copies the file of an open store into a directory of its own.
func snapshot(t *testing.T, s store.Store) (dir string) {
	t.Helper()
	dir = t.TempDir()
	err := s.Snapshot(t.Context(), func(f *os.File) error {
		to, err := os.Create(filepath.Join(dir, "conversations.db"))
		if err != nil {
			return err
		}
		_, err = io.Copy(to, f)
		return errors.Join(err, to.Close())
	})
	if err != nil {
		t.Errorf("snapshot: got error %v, want none", err)
	}
	return dir
}

// Copies are taken while writers append. Each is a sound store with all that was acknowledged before, and no log of it
// has a hole.
func TestSnapshot_IsConsistentUnderWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, bolt.Config{Dir: dir, Reserve: 1})
	var writers sync.WaitGroup
	var acknowledged [8]atomic.Int64
	ended := make(chan struct{})
	for i := range acknowledged {
		writers.Go(func() {
			for at := (store.Position{}); ; {
				select {
				case <-ended:
					return
				default:
				}
				text := fmt.Sprint("number ", at.N+1, strings.Repeat(" and more", int(at.N%300)))
				var err error
				if at, err = s.Append(t.Context(), fmt.Sprint("c", i), at, storetest.Records(text)...); err != nil {
					t.Errorf("append: %v", err)
					return
				}
				acknowledged[i].Store(at.N)
			}
		})
	}
	for range 10 {
		var before [len(acknowledged)]int64
		for i := range before {
			before[i] = acknowledged[i].Load()
		}
		copied := snapshot(t, s)
		if problems, err := bolt.Check(copied); err != nil || len(problems) > 0 {
			t.Errorf("check a copy: got %v, %v; want no problem", problems, err)
		}
		c := open(t, bolt.Config{Dir: copied, Reserve: 1})
		for i, n := range before {
			all, end, err := store.Load(t.Context(), c, fmt.Sprint("c", i), 0)
			if err != nil || end.N < n || int64(len(all)) != end.N {
				t.Errorf("load c%d of a copy: got %d records up to %d, error %v; want at least %d", i, len(all), end.N, err, n)
			}
		}
		closeStore(t, c)
	}
	close(ended)
	writers.Wait()
	if left, err := filepath.Glob(filepath.Join(dir, "copy-*")); err != nil || len(left) > 0 {
		t.Errorf("beside the store: got %v, %v; want no copy", left, err)
	}
}

func TestOpen_RemovesWhatAKilledProcessLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"copy-123", "sync-123", "conversations.db.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a part"), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	open(t, bolt.Config{Dir: dir})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("files: got %v, %v; want the store and its lock", files, err)
	}
}
