package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// shut closes a store that will be opened again.
func shut(t *testing.T, e store.Store) {
	t.Helper()
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWriteIsOnTheDiskBeforeItIsAcknowledged(t *testing.T) {
	if !store.SyncAlways(alone(t, store.Config{Dir: t.TempDir()})) {
		t.Error("a power failure would take back what was acknowledged")
	}
}

func TestAStoreIsThereAgain(t *testing.T) {
	t.Parallel()
	c := store.Config{Dir: filepath.Join(t.TempDir(), "deep", "store"), Lease: time.Hour}
	w := world{alone(t, c), c.Lease, shortTick}
	at := add(t, w, "c1", store.Position{}, "a", strings.Repeat("large ", 100<<10))
	offer(t, w, ticket("held"))
	take(t, w)
	due := park(t, w, ticket("parked"), 2)
	keyed := ticket("keyed")
	keyed.Key = "once"
	offer(t, w, keyed)
	shut(t, w)

	w.Store = alone(t, c)
	wantLog(t, w, "c1", 0, numbered(1, "a", strings.Repeat("large ", 100<<10))...)
	add(t, w, "c1", at, "b")
	offer(t, w, keyed)
	for _, turn := range []string{"held", "keyed", "parked"} {
		if c := take(t, w); c.Job().Turn != turn || turn == "parked" && time.Now().Before(due) {
			t.Errorf("took %v, %v before the parked one is due", c.Job(), time.Until(due))
		}
	}
	takeNone(t, w)
	info, err := os.Stat(c.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
}

func TestOnlyOneHasADirectory(t *testing.T) {
	c := store.Config{Dir: t.TempDir()}
	first := alone(t, c)
	_, err := store.Open(t.Context(), c)
	wantError(t, "second", err, store.ErrInUse)
	if err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Error(err)
	}
	shut(t, first)
	alone(t, c)
}

func TestAStoreIsTakenAwayUnlessSomebodyHasIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	e := alone(t, store.Config{Dir: dir})
	wantError(t, "in use", store.Remove(dir), store.ErrInUse)
	shut(t, e)
	for range 2 {
		wantError(t, "idle", store.Remove(dir), nil)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	other := t.TempDir()
	for _, name := range []string{"lock", "thesis.txt"} {
		if err := os.WriteFile(filepath.Join(other, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, "no store", store.Remove(other), store.ErrInvalid)
	if _, err := os.Stat(filepath.Join(other, "thesis.txt")); err != nil {
		t.Error(err)
	}
}

func TestAStoreStaysOfItsKind(t *testing.T) {
	c := store.Config{Dir: t.TempDir()}
	shut(t, alone(t, c))
	c.Cluster = &store.Cluster{Name: "a", Node: "a", Secret: "a", Listen: "127.0.0.1:1", Clients: "127.0.0.1:2"}
	_, err := store.Open(t.Context(), c)
	wantError(t, "cluster", err, store.ErrMode)
	c.Cluster = nil
	alone(t, c)
}

func TestConfigsThatCannotBeAreRefused(t *testing.T) {
	good := store.Cluster{Name: "a", Node: "a", Secret: "a", Listen: "127.0.0.1:1", Clients: "127.0.0.1:2"}
	for _, spoil := range []func(*store.Cluster){
		func(c *store.Cluster) { c.Name = "" },
		func(c *store.Cluster) { c.Secret = "" },
		func(c *store.Cluster) { c.Listen = "nowhere" },
		func(c *store.Cluster) { c.Clients = ":1" },
		func(c *store.Cluster) { c.Clients = "a:0" },
		func(c *store.Cluster) { c.Peers = []string{"a:b"} },
	} {
		c := good
		spoil(&c)
		_, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Cluster: &c})
		wantError(t, fmt.Sprint(c), err, store.ErrInvalid)
	}
	_, err := store.Open(t.Context(), store.Config{})
	wantError(t, "no directory", err, store.ErrInvalid)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Config{Dir: name}); err == nil {
		t.Error("a store in a file")
	}
}

// spoiled makes a store with two logs of five records each, changes one byte of
// a record and opens it again.
func spoiled(t *testing.T, text string, crash bool) world {
	t.Helper()
	c := store.Config{Dir: t.TempDir()}
	w := world{Store: alone(t, c)}
	var a, b store.Position
	for i := range 5 {
		a = add(t, w, "c1", a, "text"+strconv.Itoa(i))
		b = add(t, w, "c2", b, "other"+strconv.Itoa(i))
	}
	add(t, w, "c3", store.Position{}, "alone")
	shut(t, w)
	files := filepath.Join(c.Dir, "store", "jetstream", "$G", "streams", "CONV", "msgs")
	block := filepath.Join(files, "1.blk")
	data, err := os.ReadFile(block)
	at := bytes.Index(data, []byte(text))
	if err != nil || at < 0 {
		t.Fatal(at, err)
	}
	data[at] ^= 1
	if err := os.WriteFile(block, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if crash { // no index was written
		if err := os.Remove(filepath.Join(files, "index.db")); err != nil {
			t.Fatal(err)
		}
	}
	w.Store = alone(t, c)
	return w
}

func TestADamagedRecordIsReportedAndNeverPassedOver(t *testing.T) {
	t.Parallel()
	for i, text := range []string{"text0", "text1", "text2", "text3", "text4"} {
		w := spoiled(t, text, false)
		wantDamage(t, w, "c1", int64(i+1))
		if records, _, err := store.Load(t.Context(), w, "c2", 0); err != nil || len(records) != 5 {
			t.Error(len(records), err)
		}
	}
	wantDamage(t, spoiled(t, "alone", false), "c3", 1)
}

// wantDamage wants a log to be damaged from a number on, for all who read it.
func wantDamage(t *testing.T, w world, conversation string, n int64) {
	t.Helper()
	var last error
	for r, err := range w.Read(t.Context(), conversation, 0) {
		if err == nil && r.N >= n {
			t.Errorf("record %d was read", r.N)
		}
		last = err
	}
	if d, ok := errors.AsType[*store.Damage](last); !ok || d.N != n || d.Conversation != conversation {
		t.Errorf("reading record %d: %v", n, last)
	}
	_, _, err := store.Load(t.Context(), w, conversation, 0)
	if d, ok := errors.AsType[*store.Damage](err); !ok || d.N != n {
		t.Errorf("loading record %d: %v", n, err)
	}
}

// A server that finds damage as it recovers cuts off all that stands behind.
func TestWhatAServerCutsOffIsReported(t *testing.T) {
	t.Parallel()
	w := spoiled(t, "other2", true)
	h := wantLoss(t, w)
	add(t, w, "c9", store.Position{}, "later")
	shut(t, w)
	w.Store = alone(t, store.Config{Dir: h.Dir})
	wantLoss(t, w)
}

// wantLoss wants the health of a store to tell what it has lost.
func wantLoss(t *testing.T, w world) store.Health {
	t.Helper()
	h, err := w.Health(t.Context())
	if err != nil || !strings.Contains(strings.Join(h.Trouble, "\n"), "entries 6 to 11 of CONV") {
		t.Fatal(h.Trouble, err)
	}
	return h
}

func TestAFullDiskIsReadAndThenWrittenAgain(t *testing.T) {
	t.Parallel()
	c := store.Config{Dir: t.TempDir(), Reserve: 100 << 20}
	w := world{alone(t, c), time.Minute, shortTick}
	at := add(t, w, "c1", store.Position{}, "a")
	offer(t, w, ticket("t1"))

	store.SetSpace(w.Store, 50<<20)
	wantError(t, "offer", w.Enqueue(t.Context(), ticket("t2")), store.ErrFull)
	at = add(t, w, "c1", at, "what is under way goes on")
	park(t, w, ticket("t1"), 1000)
	if h, err := w.Health(t.Context()); err != nil || !h.Full || len(h.Trouble) == 0 {
		t.Error(h, err)
	}

	store.SetSpace(w.Store, 20<<20)
	_, err := w.Append(t.Context(), "c1", at, records("b")...)
	wantError(t, "append", err, store.ErrFull)
	wantError(t, "park", w.Schedule(t.Context(), ticket("t1"), time.Now().Add(time.Hour)), store.ErrFull)
	if got, end, err := store.Load(t.Context(), w, "c1", 0); err != nil || end != at || len(got) != 2 {
		t.Error(got, end, err)
	}
	finish(t, take(t, w))

	store.SetSpace(w.Store, 1<<40)
	add(t, w, "c1", at, "b")
	offer(t, w, ticket("t2"))
	if h, err := w.Health(t.Context()); err != nil || h.Full {
		t.Error(h, err)
	}
}

func TestAStoreHasABound(t *testing.T) {
	t.Parallel()
	w := world{Store: alone(t, store.Config{Dir: t.TempDir(), Bytes: 4 << 20})}
	text, at := strings.Repeat("text ", 20<<10), store.Position{}
	err := error(nil)
	for i := 0; err == nil && i < 100; i++ {
		var end store.Position
		if end, err = w.Append(t.Context(), "c1", at, records(text)...); err == nil {
			at = end
		}
	}
	wantError(t, "append", err, store.ErrFull)
	wantError(t, "offer", w.Enqueue(t.Context(), ticket("t1")), store.ErrFull)
	if got, _, err := store.Load(t.Context(), w, "c1", 0); err != nil || int64(len(got)) != at.N || at.N < 20 {
		t.Error(len(got), err)
	}
}

func TestAServerWhoseDiskFailedIsStartedAnew(t *testing.T) {
	t.Parallel()
	w := world{alone(t, store.Config{Dir: t.TempDir()}), time.Minute, shortTick}
	at := add(t, w, "c1", store.Position{}, "a")
	heard := listen(t, t.Context(), w, "c1")
	takeNone(t, w)
	store.Break(w.Store)
	at = add(t, w, "c1", at, "b")
	offer(t, w, ticket("t1"))
	finish(t, take(t, w))
	add(t, w, "c1", at, "c")
	for h := next(t, heard); ; h = next(t, heard) {
		if h.Records[0].N == 3 {
			break
		}
	}
}
