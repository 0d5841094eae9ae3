package bolt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// open opens a store until the test ends.
func open(t testing.TB, c bolt.Config) store.Store {
	t.Helper()
	s, err := bolt.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("open %s: %v", c.Dir, err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

// closeStore closes a store that will be opened again.
func closeStore(t testing.TB, s store.Store) {
	t.Helper()
	if err := s.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
}

const (
	shortLease = time.Second
	shortTick  = 50 * time.Millisecond
)

// subject returns a store for the suite's helpers.
func subject(s store.Store) storetest.Subject {
	return storetest.Subject{Store: s, Lease: shortLease, Tick: shortTick}
}

func TestOpen_Conforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		return subject(open(t, bolt.Config{Dir: t.TempDir(), Lease: shortLease, Reserve: 1}))
	})
}

func TestOpen_AgainFindsEverything(t *testing.T) {
	t.Parallel()
	c := bolt.Config{Dir: filepath.Join(t.TempDir(), "deep", "store"), Lease: time.Hour, Reserve: 1}
	s := subject(open(t, c))
	s.Lease = c.Lease
	texts := []string{"a", strings.Repeat("large ", 100<<10)}
	at := storetest.Append(t, s, "c1", store.Position{}, texts...)
	storetest.Enqueue(t, s, storetest.Job("leased"))
	storetest.Take(t, s)
	due := storetest.Schedule(t, s, storetest.Job("scheduled"), 8)
	storetest.Enqueue(t, s, storetest.Job("due"))
	closeStore(t, s)

	s.Store = open(t, c)
	storetest.WantLog(t, s, "c1", 0, storetest.Numbered(1, texts...)...)
	storetest.Append(t, s, "c1", at, "b")
	for _, turn := range []string{"leased", "due", "scheduled"} {
		if l := storetest.Take(t, s); l.Job().Turn != turn || turn == "scheduled" && time.Now().Before(due) {
			t.Errorf("took %v %v before the scheduled one is due, want %s", l.Job(), time.Until(due), turn)
		}
	}
	storetest.WantNoJob(t, s)
	info, err := os.Stat(c.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("stat %s: got %v, %v; want mode 0700", c.Dir, info, err)
	}
}

// A cursor of bbolt skips keys when it deletes in pages that its transaction has changed before, as it has for the
// other writes that are committed together.
func TestDelete_LeavesNoRecordBesideOtherWrites(t *testing.T) {
	t.Parallel()
	s := open(t, bolt.Config{Dir: t.TempDir(), Reserve: 1})
	const logs, records = 40, 25
	var writers sync.WaitGroup
	for i := range logs {
		id, end := fmt.Sprintf("c%02d", i), store.Position{}
		for n := range records {
			end = storetest.Append(t, s, id, end, fmt.Sprint("record ", n))
		}
		writers.Go(func() {
			storetest.Append(t, s, id+"-other", store.Position{}, "a")
			if err := s.Delete(t.Context(), id); err != nil {
				t.Errorf("delete %s: %v", id, err)
			}
		})
	}
	writers.Wait()
	for i := range logs {
		for id, want := range map[string]int{fmt.Sprintf("c%02d", i): 0, fmt.Sprintf("c%02d-other", i): 1} {
			if n, err := bolt.CountRecords(s, id); err != nil || n != want {
				t.Errorf("records of %s in the file: got %d, %v; want %d", id, n, err, want)
			}
		}
	}
}

// An operator of a usual disk is told nothing: one takes a few milliseconds for a write.
func TestHealth_WarnsOfASlowDisk(t *testing.T) {
	s := open(t, bolt.Config{Dir: t.TempDir(), Reserve: 1})
	for took, warns := range map[time.Duration]bool{5 * time.Millisecond: false, 50 * time.Millisecond: false, 80 * time.Millisecond: true} {
		bolt.SetSyncLatency(s, took)
		h, err := s.Health(t.Context())
		if err != nil || strings.Contains(strings.Join(h.Warnings, "\n"), "the disk is slow: it takes 80ms") != warns || !warns && len(h.Warnings) > 0 {
			t.Errorf("a write takes %v: got warnings %q, %v; want one: %t", took, h.Warnings, err, warns)
		}
	}
}

func TestOpen_SecondOpenIsRefused(t *testing.T) {
	c := bolt.Config{Dir: t.TempDir()}
	first := open(t, c)
	_, err := bolt.Open(t.Context(), c)
	storetest.WantError(t, "second open", err, store.ErrInUse)
	if want := c.Dir + ", by process " + strconv.Itoa(os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("second open: got error %v, want it to name %s", err, want)
	}
	_, err = bolt.Check(c.Dir)
	storetest.WantError(t, "check an open store", err, store.ErrInUse)
	closeStore(t, first)
	open(t, c)
}

func TestOpen_EarlierFormatIsRefused(t *testing.T) {
	for _, name := range []string{"format.json", "mode", "store/jetstream"} {
		dir := t.TempDir()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600)); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
		_, err := bolt.Open(t.Context(), bolt.Config{Dir: dir})
		storetest.WantError(t, "open a directory with "+name, err, bolt.ErrFormat)
		if want := "run `ridethrough export` of that version"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open a directory with %s: got error %v, want it to say %q", name, err, want)
		}
		if !bolt.Exists(dir) {
			t.Errorf("a directory with %s does not exist as a store, want that it does", name)
		}
	}
}

func TestRemove_OnlyClosedStores(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, bolt.Config{Dir: dir})
	storetest.WantError(t, "remove an open store", bolt.Remove(dir), store.ErrInUse)
	closeStore(t, s)
	for range 2 {
		storetest.WantError(t, "remove a closed store", bolt.Remove(dir), nil)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat after removal: got error %v, want %v", err, os.ErrNotExist)
	}
}

func TestRemove_OtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lock", "thesis.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	storetest.WantError(t, "remove what is no store", bolt.Remove(dir), store.ErrInvalid)
	if _, err := os.Stat(filepath.Join(dir, "thesis.txt")); err != nil {
		t.Errorf("stat thesis.txt: got error %v, want none", err)
	}
}
