package jetstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/store/storetest"
)

func TestOpen_EveryWriteIsSynced(t *testing.T) {
	if !jetstream.SyncAlways(standalone(t, jetstream.Config{Dir: t.TempDir()})) {
		t.Error("the server acknowledges before it syncs")
	}
}

func TestOpen_AgainFindsEverything(t *testing.T) {
	t.Parallel()
	c := jetstream.Config{Dir: filepath.Join(t.TempDir(), "deep", "store"), Lease: time.Hour}
	s := subject(standalone(t, c))
	s.Lease = c.Lease
	texts := []string{"a", strings.Repeat("large ", 100<<10)}
	at := storetest.Append(t, s, "c1", store.Position{}, texts...)
	storetest.Enqueue(t, s, storetest.Job("leased"))
	storetest.Take(t, s)
	due := storetest.Schedule(t, s, storetest.Job("scheduled"), 2)
	storetest.Enqueue(t, s, storetest.Job("due"))
	closeStore(t, s)

	s.Store = standalone(t, c)
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

func TestOpen_SecondOpenIsRefused(t *testing.T) {
	c := jetstream.Config{Dir: t.TempDir()}
	first := standalone(t, c)
	_, err := jetstream.Open(t.Context(), c)
	storetest.WantError(t, "second open", err, store.ErrInUse)
	if want := "process " + strconv.Itoa(os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("second open: got error %v, want it to name %s", err, want)
	}
	closeStore(t, first)
	standalone(t, c)
}

func TestRemove_OnlyClosedStores(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := standalone(t, jetstream.Config{Dir: dir})
	storetest.WantError(t, "remove an open store", jetstream.Remove(dir), store.ErrInUse)
	closeStore(t, s)
	for range 2 {
		storetest.WantError(t, "remove a closed store", jetstream.Remove(dir), nil)
	}
	wantFile(t, dir, false)
}

func TestRemove_OtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "lock"), "")
	writeFile(t, filepath.Join(dir, "thesis.txt"), "")
	storetest.WantError(t, "remove what is no store", jetstream.Remove(dir), store.ErrInvalid)
	wantFile(t, filepath.Join(dir, "thesis.txt"), true)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatalf("make a directory: %v", err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatalf("write %s: %v", name, err)
	}
}

// wantFile checks whether a file or directory exists.
func wantFile(t *testing.T, name string, want bool) {
	t.Helper()
	if _, err := os.Stat(name); (err == nil) != want {
		t.Errorf("stat %s: got error %v, want it to exist: %v", name, err, want)
	}
}

func TestOpen_OtherFormatIsRefused(t *testing.T) {
	newer := fmt.Sprintf(`{"format":%d}`, jetstream.Format+1)
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"earlier":     {map[string]string{"mode": "alone\n", "store/jetstream/x": ""}, "was written by an earlier version of ridethrough, which this version cannot read; open it with the earlier version, or move it away"},
		"no mark":     {map[string]string{"store/jetstream/x": ""}, "was written by an earlier version of ridethrough"},
		"newer":       {map[string]string{"format.json": newer, "store/jetstream/x": ""}, fmt.Sprintf("has format %d, and this version of ridethrough reads only format %d; open it with the version that wrote it, or move it away", jetstream.Format+1, jetstream.Format)},
		"broken mark": {map[string]string{"format.json": "{"}, "cannot be decoded"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			for file, text := range tt.files {
				writeFile(t, filepath.Join(dir, file), text)
			}
			_, err := jetstream.Open(t.Context(), jetstream.Config{Dir: dir})
			storetest.WantError(t, "open", err, jetstream.ErrFormat)
			if i, err := jetstream.Inspect(t.Context(), dir); err == nil || len(i.Losses)+len(i.Damaged) > 0 {
				t.Errorf("inspect: got %+v, %v; want an error", i, err)
			}
			if err == nil || !strings.Contains(err.Error(), dir+" "+tt.want) && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("open: got error %v, want it to contain %q", err, tt.want)
			}
			for file, text := range tt.files {
				if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != text {
					t.Errorf("%s after open: got %q, %v; want %q", file, got, err, text)
				}
			}
		})
	}
}

func TestRemove_OtherFormatIsRemoved(t *testing.T) {
	for name, mark := range map[string]string{"earlier": "mode", "newer": "format.json"} {
		dir := filepath.Join(t.TempDir(), "store")
		for _, file := range []string{"lock", mark, "store/jetstream/x"} {
			writeFile(t, filepath.Join(dir, file), `{"format":99}`)
		}
		if !jetstream.Exists(dir) {
			t.Errorf("%s: Exists reports no store", name)
		}
		storetest.WantError(t, "remove "+name, jetstream.Remove(dir), nil)
		wantFile(t, dir, false)
	}
}

func TestOpen_InvalidConfigIsRefused(t *testing.T) {
	_, err := jetstream.Open(t.Context(), jetstream.Config{})
	storetest.WantError(t, "no directory", err, store.ErrInvalid)
	name := filepath.Join(t.TempDir(), "file")
	writeFile(t, name, "")
	if _, err := jetstream.Open(t.Context(), jetstream.Config{Dir: name}); err == nil {
		t.Error("open a store in a file: got no error")
	}
}

// damaged opens a store with two logs of five records each and one of one, of
// which one byte was changed. After a crash there is no index.
func damaged(t *testing.T, text string, crash bool) store.Store {
	t.Helper()
	c := jetstream.Config{Dir: t.TempDir()}
	s := standalone(t, c)
	var a, b store.Position
	for i := range 5 {
		a = storetest.Append(t, s, "c1", a, "text"+strconv.Itoa(i))
		b = storetest.Append(t, s, "c2", b, "other"+strconv.Itoa(i))
	}
	storetest.Append(t, s, "c3", store.Position{}, "single")
	closeStore(t, s)
	files := filepath.Join(c.Dir, "store", "jetstream", "$G", "streams", "CONVERSATIONS", "msgs")
	block := filepath.Join(files, "1.blk")
	data, err := os.ReadFile(block)
	at := bytes.Index(data, []byte(text))
	if err != nil || at < 0 {
		t.Fatalf("find %q in %s: got index %d, %v", text, block, at, err)
	}
	data[at] ^= 1
	writeFile(t, block, string(data))
	if crash {
		if err := os.Remove(filepath.Join(files, "index.db")); err != nil {
			t.Fatalf("remove the index: %v", err)
		}
	}
	return standalone(t, c)
}

func TestRead_ReportsDamage(t *testing.T) {
	t.Parallel()
	for i, text := range []string{"text0", "text1", "text2", "text3"} {
		s := damaged(t, text, false)
		wantDamage(t, s, "c1", int64(i+1))
		wantRest(t, s, "c1", int64(i+1))
		if records, _, err := store.Load(t.Context(), s, "c2", 0); err != nil || len(records) != 5 {
			t.Errorf("load c2: got %d records, %v; want 5", len(records), err)
		}
	}
}

// wantRest checks that a log of five records can be read on behind the only one that is missing.
func wantRest(t *testing.T, s store.Store, conversation string, missing int64) {
	t.Helper()
	var want, got []int64
	for n := missing + 1; n <= 5; n++ {
		want = append(want, n)
	}
	_, _, err := store.Load(t.Context(), s, conversation, 0)
	d, _ := errors.AsType[*store.Damage](err)
	if d == nil || d.Next != missing%5+1 && d.Next != 0 || (d.Next == 0) != (missing == 5) {
		t.Errorf("load %s without %d: got %v, want the next record", conversation, missing, err)
		return
	}
	if d.Next == 0 {
		return
	}
	for r, err := range s.Read(t.Context(), conversation, d.Next-1) {
		if err != nil {
			t.Errorf("read on behind %d: %v", missing, err)
		}
		got = append(got, r.N)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read on behind %d: got records %v, want %v", missing, got, want)
	}
}

// wantDamage checks that every way to read a log reports damage at a record.
func wantDamage(t *testing.T, s store.Store, conversation string, n int64) {
	t.Helper()
	var last error
	for r, err := range s.Read(t.Context(), conversation, 0) {
		if err == nil && r.N >= n {
			t.Errorf("read %s: got record %d", conversation, r.N)
		}
		last = err
	}
	_, _, loadErr := store.Load(t.Context(), s, conversation, 0)
	for how, err := range map[string]error{"read": last, "load": loadErr} {
		if d, ok := errors.AsType[*store.Damage](err); !ok || d.N != n || d.Conversation != conversation {
			t.Errorf("%s %s: got error %v, want damage at %d", how, conversation, err, n)
		}
	}
}

func TestAppend_FullDiskIsReadOnlyUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	s := subject(standalone(t, jetstream.Config{Dir: t.TempDir(), Reserve: 100 << 20}))
	s.Lease = time.Minute
	at := storetest.Append(t, s, "c1", store.Position{}, "a")
	storetest.Enqueue(t, s, storetest.Job("t1"))

	jetstream.SetFreeBytes(s.Store, 50<<20)
	storetest.WantError(t, "enqueue", s.Enqueue(t.Context(), storetest.Job("t2")), store.ErrFull)
	at = storetest.Append(t, s, "c1", at, "a turn in progress continues")
	storetest.Schedule(t, s, storetest.Job("t1"), 1000)
	if h, err := s.Health(t.Context()); err != nil || !h.Full || len(h.Warnings) == 0 {
		t.Errorf("health: got %+v, %v; want a full store and a warning", h, err)
	}

	jetstream.SetFreeBytes(s.Store, 20<<20)
	_, err := s.Append(t.Context(), "c1", at, storetest.Records("b")...)
	storetest.WantError(t, "append", err, store.ErrFull)
	storetest.WantError(t, "schedule", s.Schedule(t.Context(), storetest.Job("t1"), time.Now().Add(time.Hour)), store.ErrFull)
	if got, end, err := store.Load(t.Context(), s, "c1", 0); err != nil || end != at || len(got) != 2 {
		t.Errorf("load: got %d records, %v, %v; want 2 and %v", len(got), end, err, at)
	}
	if err := storetest.Take(t, s).Ack(); err != nil {
		t.Fatalf("acknowledge job: %v", err)
	}

	jetstream.SetFreeBytes(s.Store, 1<<40)
	storetest.Append(t, s, "c1", at, "b")
	storetest.Enqueue(t, s, storetest.Job("t2"))
	if h, err := s.Health(t.Context()); err != nil || h.Full {
		t.Errorf("health: got %+v, %v; want space", h, err)
	}
}

func TestAppend_StoreAtItsLimitIsFull(t *testing.T) {
	t.Parallel()
	s := standalone(t, jetstream.Config{Dir: t.TempDir(), Bytes: 4 << 20})
	text, at := strings.Repeat("text ", 20<<10), store.Position{}
	err := error(nil)
	for i := 0; err == nil && i < 100; i++ {
		var end store.Position
		if end, err = s.Append(t.Context(), "c1", at, storetest.Records(text)...); err == nil {
			at = end
		}
	}
	storetest.WantError(t, "append", err, store.ErrFull)
	storetest.WantError(t, "enqueue", s.Enqueue(t.Context(), storetest.Job("t1")), store.ErrFull)
	if got, _, err := store.Load(t.Context(), s, "c1", 0); err != nil || int64(len(got)) != at.N || at.N < 20 {
		t.Errorf("load: got %d records, %v; want %d, at least 20", len(got), err, at.N)
	}
}

func TestAppend_FailedWriteRestartsTheServer(t *testing.T) {
	t.Parallel()
	s := subject(standalone(t, jetstream.Config{Dir: t.TempDir()}))
	s.Lease = time.Minute
	at := storetest.Append(t, s, "c1", store.Position{}, "a")
	messages := storetest.Subscribe(t, t.Context(), s, "c1")
	storetest.WantNoJob(t, s)
	jetstream.FailWrite(s.Store)
	at = storetest.Append(t, s, "c1", at, "b")
	storetest.Enqueue(t, s, storetest.Job("t1"))
	if err := storetest.Take(t, s).Ack(); err != nil {
		t.Fatalf("acknowledge job: %v", err)
	}
	storetest.Append(t, s, "c1", at, "c")
	for deadline := time.After(20 * time.Second); ; {
		select {
		case m := <-messages:
			if len(m.Records) > 0 && m.Records[0].N == 3 {
				return
			}
		case <-deadline:
			t.Fatal("receive record 3: it did not arrive within 20 s")
		}
	}
}
