package jetstream_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// The files that the tests damage.
const (
	logFiles = "store/jetstream/$G/streams/CONVERSATIONS/msgs"
	jobFiles = "store/jetstream/$G/streams/TURNS/msgs"
)

// openBound is how long it may take to inspect or open a damaged store, and memoryBound what may be allocated
// meanwhile.
const (
	openBound   = 20 * time.Second
	memoryBound = 200 << 20
)

// writeStore writes a store with two logs of three records, one of one and a deleted one, a due and a
// scheduled job, and returns its directory.
func writeStore(t *testing.T) string {
	t.Helper()
	c := jetstream.Config{Dir: t.TempDir()}
	s := subject(standalone(t, c))
	var a, b store.Position
	for i := range 3 {
		a = storetest.Append(t, s, "c1", a, fmt.Sprint("text", i))
		b = storetest.Append(t, s, "c2", b, fmt.Sprint("other", i))
	}
	storetest.Append(t, s, "gone", store.Position{}, "private")
	if err := s.Delete(t.Context(), "gone"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	storetest.Append(t, s, "c3", store.Position{}, "single")
	storetest.Enqueue(t, s, storetest.Job("due"))
	if err := s.Schedule(t.Context(), storetest.Job("scheduled"), time.Now().Add(time.Hour)); err != nil {
		t.Fatalf("schedule: %v", err)
	}
	closeStore(t, s)
	return c.Dir
}

// copyStore returns a copy of a directory.
func copyStore(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatalf("copy the store: %v", err)
	}
	return to
}

// storedRecord is where a message stands in a file.
type storedRecord struct {
	at, size, subject, header int    // header: its size; -1: there is none
	id                        string // of the conversation or turn
}

// records returns the messages in a file.
func records(t *testing.T, data []byte) (all []storedRecord) {
	t.Helper()
	for at := 0; at < len(data); {
		size := binary.LittleEndian.Uint32(data[at:])
		r := storedRecord{at: at, size: int(size &^ (1 << 31)), subject: int(binary.LittleEndian.Uint16(data[at+20:])), header: -1}
		if size&(1<<31) != 0 {
			r.header = int(binary.LittleEndian.Uint32(data[at+22+r.subject:]))
		}
		if parts := strings.SplitN(string(data[at+22:at+22+r.subject]), ".", 3); len(parts) == 3 {
			r.id = parts[2]
		}
		all = append(all, r)
		at += r.size
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return data
}

// inspect inspects a closed store within the bounds. A process that another test starts has the lock for an
// instant.
func inspect(t *testing.T, dir string) jetstream.Inspection {
	t.Helper()
	ctx := within(t)
	i, err := jetstream.Inspect(ctx, dir)
	for errors.Is(err, store.ErrInUse) && ctx.Err() == nil {
		runtime.Gosched()
		i, err = jetstream.Inspect(ctx, dir)
	}
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return i
}

// sameLosses ignores when and where in the stream something was lost.
var sameLosses = cmpopts.IgnoreFields(store.Loss{}, "Noticed", "First", "Last")

func TestInspect_WholeStoreHasNoLosses(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	for _, missing := range []string{"", "clean", "heads", "watermarks", logFiles + "/index.db", jobFiles + "/index.db", jobFiles + "/sched.db"} {
		whole := copyStore(t, dir)
		if missing != "" {
			if err := os.Remove(filepath.Join(whole, missing)); err != nil {
				t.Fatalf("remove %s: %v", missing, err)
			}
		}
		if i := inspect(t, whole); len(i.Losses) > 0 || len(i.Damaged) > 0 {
			t.Errorf("without %q: got %+v, want no losses", missing, i)
		}
		var log bytes.Buffer
		s := standalone(t, jetstream.Config{Dir: whole, Log: slog.New(slog.NewTextHandler(&log, nil))})
		wantStored(t, s, "without "+missing, "")
		closeStore(t, s)
		if log.Len() > 0 {
			t.Errorf("without %q: logged %s, want nothing", missing, log.String())
		}
	}
}

// wantStored checks that a store has what writeStore has written, but for one conversation.
func wantStored(t *testing.T, s store.Store, what, but string) {
	t.Helper()
	for id, texts := range map[string][]string{"c1": {"text0", "text1", "text2"}, "c2": {"other0", "other1", "other2"}, "c3": {"single"}} {
		if id == but {
			continue
		}
		got, _, err := store.Load(t.Context(), s, id, 0)
		if diff := cmp.Diff(storetest.Numbered(1, texts...), got, cmpopts.IgnoreFields(store.Record{}, "Time")); err != nil || diff != "" {
			t.Errorf("%s: load %s: %v (-want +got):\n%s", what, id, err, diff)
		}
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Due != 1 || h.Scheduled != 1 {
		t.Errorf("%s: got %d due and %d scheduled jobs, %v; want one of each", what, h.Due, h.Scheduled, err)
	}
}

// Each byte of a message is changed, and the same message is lost each time, and only that one.
func TestInspect_NamesTheLossForEveryDamagedByte(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	for _, files := range []string{logFiles, jobFiles} {
		name := filepath.Join(dir, files, "1.blk")
		whole := read(t, name)
		for _, r := range records(t, whole) {
			want := store.Loss{Messages: 1, Conversation: r.id}
			if files == jobFiles {
				want = store.Loss{Messages: 1, Jobs: true, Turn: r.id}
			}
			for at := r.at; at < r.at+r.size; at++ {
				damaged := append([]byte(nil), whole...)
				damaged[at] ^= 0x41
				writeFile(t, name, string(damaged))
				i := inspect(t, dir)
				isDeleted := r.id == "" || r.id == "gone" && len(i.Losses) == 0 // the mark of a message that was deleted, or that message
				if diff := cmp.Diff([]store.Loss{want}, i.Losses, sameLosses); diff != "" && !isDeleted || len(i.Damaged) != 1 {
					t.Fatalf("byte %d of the message of %q at %d: damaged %v, losses (-want +got):\n%s", at-r.at, r.id, r.at, i.Damaged, diff)
				}
			}
		}
		writeFile(t, name, string(whole))
	}
}

// damagedFields are the offsets in a message of the first byte of each field, and others that matter.
func damagedFields(r storedRecord) map[string]int {
	all := map[string]int{
		"size": 0, "size, high": 2, "header bit": 3, "sequence number": 4, "sequence number, byte 4": 8, "sequence number, bits": 11,
		"time": 12, "size of subject": 20, "size of subject, high": 21, "subject": 22, "checksum": r.size - 8,
	}
	if r.header >= 0 {
		all["size of header"], all["header"], all["data"] = 22+r.subject, 22+r.subject+4, 22+r.subject+4+r.header
	}
	return all
}

func TestOpen_DamagedFieldLosesOneMessage(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	whole := read(t, filepath.Join(dir, logFiles, "1.blk"))
	all := records(t, whole)
	for n, crashes := range map[int][]bool{0: {false}, 2: {false, true}, len(all) - 1: {true}} {
		r := all[n]
		for field, offset := range damagedFields(r) {
			for _, crashed := range crashes {
				what := fmt.Sprintf("%s of message %d, crashed %v", field, n, crashed)
				copied := copyStore(t, dir)
				damaged := append([]byte(nil), whole...)
				damaged[r.at+offset] ^= 0x81
				writeFile(t, filepath.Join(copied, logFiles, "1.blk"), string(damaged))
				if crashed {
					_ = os.Remove(filepath.Join(copied, "clean"))
				}
				wantOneLoss(t, what, copied, r.id)
			}
		}
	}
}

// One bit made the server count to 2³², with memory for each number.
func TestOpen_DamagedSequenceNumberTakesLittleMemory(t *testing.T) {
	dir := writeStore(t) // no test runs in parallel to this one
	name := filepath.Join(dir, logFiles, "1.blk")
	data := read(t, name)
	data[records(t, data)[1].at+8] ^= 1
	writeFile(t, name, string(data))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantOneLoss(t, "byte 4 of the sequence number", dir, "c2")
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > memoryBound {
		t.Errorf("two openings allocated %d MiB, want at most %d", used>>20, memoryBound>>20)
	}
}

// wantOneLoss opens a store in which a message of a conversation is damaged, twice, within the bound.
func wantOneLoss(t *testing.T, what, dir, conversation string) {
	t.Helper()
	for range 2 { // the second one finds nothing new
		s, err := jetstream.Open(within(t), jetstream.Config{Dir: dir})
		if err != nil {
			t.Fatalf("%s: open: %v", what, err)
		}
		wantStored(t, s, what, conversation)
		h, err := s.Health(t.Context())
		want := []store.Loss{{Messages: 1, Conversation: conversation, N: firstMissing(t, s, conversation)}}
		if diff := cmp.Diff(want, h.Losses, sameLosses); err != nil || diff != "" {
			t.Errorf("%s: health %v, losses (-want +got):\n%s", what, err, diff)
		}
		closeStore(t, s)
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "damaged", "*", "CONVERSATIONS", "1.blk"))
	if len(kept) != 1 {
		t.Errorf("%s: kept %v, want one copy of the damaged file", what, kept)
	}
}

// firstMissing returns the number of the first record that a conversation lacks.
func firstMissing(t *testing.T, s store.Store, conversation string) int64 {
	t.Helper()
	n := int64(1)
	for r, err := range s.Read(t.Context(), conversation, 0) {
		if err == nil {
			n = r.N + 1
		}
	}
	return n
}

func TestOpen_TruncatedFile(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	whole := read(t, filepath.Join(dir, logFiles, "1.blk"))
	all := records(t, whole)
	last := all[len(all)-1]
	sizes := map[string]int{
		"empty": 0, "first byte": 1, "half": len(whole) / 2, "last 7 bytes cut": len(whole) - 7, "last byte cut": len(whole) - 1,
		"between messages": all[2].at, "in the fixed part": last.at + 10, "behind the fixed part": last.at + 22, "in the subject": last.at + 24,
		"in the header": last.at + 22 + last.subject + 10, "before the checksum": last.at + last.size - 8, "last message cut": last.at,
	}
	for what, size := range sizes {
		for _, index := range []string{"present", "missing", "garbled"} {
			copied := copyStore(t, dir)
			writeFile(t, filepath.Join(copied, logFiles, "1.blk"), string(whole[:size]))
			spoilIndex(t, filepath.Join(copied, logFiles, "index.db"), index)
			wantTruncated(t, what+", index "+index, copied, lostBy(all, size))
		}
	}
	copied := copyStore(t, dir)
	if err := os.Remove(filepath.Join(copied, logFiles, "1.blk")); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	wantTruncated(t, "removed", copied, lostBy(all, 0))
}

func spoilIndex(t *testing.T, name, how string) {
	t.Helper()
	switch how {
	case "missing":
		if err := os.Remove(name); err != nil {
			t.Fatalf("remove the index: %v", err)
		}
	case "garbled":
		data := read(t, name)
		data[len(data)/2] ^= 1
		writeFile(t, name, string(data))
	}
}

// lostBy returns how many messages each conversation loses if a file ends at a size. Of the deleted one
// nothing is left but its mark, which is the last.
func lostBy(all []storedRecord, size int) map[string]uint64 {
	lost, seen := map[string]uint64{}, map[string]int{}
	for _, r := range all {
		seen[r.id]++
		if r.at+r.size > size && r.id != "" && (r.id != "gone" || seen["gone"] == 2) {
			lost[r.id]++
		}
	}
	return lost
}

// wantTruncated checks that a store reports the lost messages, before it is opened and after.
func wantTruncated(t *testing.T, what, dir string, lost map[string]uint64) {
	t.Helper()
	compare := func(how string, losses []store.Loss) {
		got := map[string]uint64{}
		for _, l := range losses {
			got[l.Conversation] += l.Messages
		}
		if diff := cmp.Diff(lost, got); diff != "" {
			t.Errorf("%s: %s: messages lost by conversation (-want +got):\n%s", what, how, diff)
		}
	}
	compare("inspect", inspect(t, dir).Losses)
	s, err := jetstream.Open(within(t), jetstream.Config{Dir: dir})
	if err != nil {
		t.Fatalf("%s: open: %v", what, err)
	}
	h, err := s.Health(t.Context())
	if err != nil {
		t.Fatalf("%s: health: %v", what, err)
	}
	compare("health", h.Losses)
	storetest.Append(t, s, "new", store.Position{}, "a")
	closeStore(t, s)
	if i := inspect(t, dir); len(i.Losses) > 0 || len(i.Damaged) > 0 {
		t.Errorf("%s: inspect after the repair: got %+v, want nothing", what, i)
	}
}

func TestOpen_WithoutHeadsCountsWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	if err := os.Remove(filepath.Join(dir, "clean")); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	name := filepath.Join(dir, logFiles, "1.blk")
	whole := read(t, name)
	writeFile(t, name, string(whole[:len(whole)-7]))
	for _, heads := range []string{"missing", "empty", "old"} {
		copied := copyStore(t, dir)
		file := filepath.Join(copied, "heads")
		text := string(read(t, file))
		switch heads {
		case "missing":
			if err := os.Remove(file); err != nil {
				t.Fatalf("remove the heads: %v", err)
			}
		case "empty":
			writeFile(t, file, "")
		case "old":
			writeFile(t, file, text[:strings.Index(text, "\n")+1])
		}
		want := []store.Loss{{Messages: 1, First: 9, Last: 9}}
		if diff := cmp.Diff(want, inspect(t, copied).Losses, cmpopts.IgnoreFields(store.Loss{}, "Noticed")); diff != "" {
			t.Errorf("heads %s: losses (-want +got):\n%s", heads, diff)
		}
	}
}

func TestOpen_LostJobsAreNamed(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	name := filepath.Join(dir, jobFiles, "1.blk")
	whole := read(t, name)
	all := records(t, whole)
	for what, data := range map[string]string{
		"scheduled": string(whole[:all[1].at]),
		"due":       string(whole[:5]) + "x" + string(whole[6:]),
	} {
		copied := copyStore(t, dir)
		writeFile(t, filepath.Join(copied, jobFiles, "1.blk"), data)
		want := []store.Loss{{Messages: 1, Jobs: true, Turn: what}}
		if diff := cmp.Diff(want, inspect(t, copied).Losses, sameLosses); diff != "" {
			t.Errorf("inspect without the job %s (-want +got):\n%s", what, diff)
		}
		s := standalone(t, jetstream.Config{Dir: copied})
		if h, err := s.Health(t.Context()); err != nil || !cmp.Equal(want, h.Losses, sameLosses) || h.Due+h.Scheduled != 1 {
			t.Errorf("health without the job %s: got %+v, %v; want the loss and the other job", what, h, err)
		}
	}
}

func TestOpen_SeveralFiles(t *testing.T) {
	t.Parallel()
	c := jetstream.Config{Dir: t.TempDir()}
	s := standalone(t, c)
	text := strings.Repeat("large ", 150<<10)
	for i := range 20 { // in files of 8 MiB
		storetest.Append(t, s, fmt.Sprintf("c%02d", i), store.Position{}, text)
	}
	closeStore(t, s)
	second := read(t, filepath.Join(c.Dir, logFiles, "2.blk"))
	all := records(t, second)
	for what, size := range map[string]int{"half": len(second) / 2, "between messages": all[3].at, "empty": 0, "removed": -1} {
		copied := copyStore(t, c.Dir)
		name := filepath.Join(copied, logFiles, "2.blk")
		if size < 0 {
			if err := os.Remove(name); err != nil {
				t.Fatalf("remove: %v", err)
			}
		} else {
			writeFile(t, name, string(second[:size]))
		}
		wantTruncated(t, what, copied, lostBy(all, size))
	}
}

func TestOpen_WhatIsNoFileOfAStreamIsRefused(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	name := filepath.Join(dir, logFiles, "2.blk")
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatalf("make a directory: %v", err)
	}
	for range 2 { // the directory is released
		if _, err := jetstream.Open(within(t), jetstream.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), name+" is no file of a stream") {
			t.Errorf("open: got %v, want it to name %s", err, name)
		}
	}
}

// within returns a context that ends after openBound.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openBound)
	t.Cleanup(cancel)
	return ctx
}

// What is deleted, acknowledged or replaced is no loss, however the store was closed.
func TestInspect_WorkIsNoLoss(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	c := jetstream.Config{Dir: t.TempDir()}
	ends := map[string]store.Position{}
	for round := range 6 {
		s := subject(standalone(t, c))
		for range 60 {
			id := fmt.Sprintf("id%d", random.IntN(12))
			switch random.IntN(7) {
			case 0, 1:
				if end, err := s.Append(t.Context(), id, ends[id], storetest.Records(strings.Repeat("x", random.IntN(40<<10)))...); err == nil {
					ends[id] = end
				}
			case 2:
				if random.IntN(4) == 0 {
					storetest.WantError(t, "delete", s.Delete(t.Context(), id), nil)
				}
			case 3:
				storetest.Enqueue(t, s, storetest.Job(id))
				if err := storetest.Take(t, s).Ack(); err != nil {
					t.Fatalf("acknowledge: %v", err)
				}
			case 4:
				storetest.Enqueue(t, s, storetest.Job(id))
			case 5:
				storetest.WantError(t, "schedule", s.Schedule(t.Context(), storetest.Job(id), time.Now().Add(time.Hour)), nil)
			case 6:
				storetest.WantError(t, "unschedule", s.Unschedule(t.Context(), id), nil)
			}
		}
		closeStore(t, s)
		if round%2 == 1 { // as after a crash
			_ = os.Remove(filepath.Join(c.Dir, "clean"))
		}
		if i := inspect(t, c.Dir); len(i.Losses) > 0 || len(i.Damaged) > 0 {
			t.Fatalf("inspect after round %d: got %+v, want nothing", round, i)
		}
	}
}

func TestOpen_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err := jetstream.Open(ctx, jetstream.Config{Dir: dir})
	storetest.WantError(t, "open with a context that has ended", err, enough)
	wantStored(t, standalone(t, jetstream.Config{Dir: dir}), "opened again", "")
}

// What is kept beside the streams may be damaged as well. Then less is noticed, and nothing is made up.
func TestInspect_DamageBesideTheStreamsIsNoLoss(t *testing.T) {
	t.Parallel()
	dir := writeStore(t)
	spoil := map[string]func([]byte) []byte{
		"flipped":   func(b []byte) []byte { b[len(b)/2] ^= 0x41; return b },
		"first bit": func(b []byte) []byte { b[0] ^= 1; return b },
		"half":      func(b []byte) []byte { return b[:len(b)/2] },
		"empty":     func([]byte) []byte { return nil },
		"long line": func([]byte) []byte { return bytes.Repeat([]byte("x"), 1<<20) },
	}
	for _, name := range []string{"heads", "watermarks", "clean", logFiles + "/index.db", jobFiles + "/index.db", jobFiles + "/sched.db", jobFiles + "/thw.db", jobFiles + "/../obs/workers/o.dat", jobFiles + "/../meta.inf", logFiles + "/../meta.sum"} {
		for how, do := range spoil {
			copied := copyStore(t, dir)
			file := filepath.Join(copied, filepath.FromSlash(name))
			if data := read(t, file); len(data) > 0 {
				writeFile(t, file, string(do(data)))
			}
			what := name + " " + how
			if i := inspect(t, copied); len(i.Losses) > 0 || len(i.Damaged) > 0 {
				t.Errorf("%s: got %+v, want no losses", what, i)
			}
			s, err := jetstream.Open(within(t), jetstream.Config{Dir: copied})
			if err != nil {
				t.Errorf("%s: open: %v", what, err)
				continue
			}
			wantStored(t, s, what, "")
			if h, err := s.Health(t.Context()); err != nil || len(h.Losses) > 0 {
				t.Errorf("%s: health: got losses %v, %v; want none", what, h.Losses, err)
			}
			closeStore(t, s)
		}
	}
}
