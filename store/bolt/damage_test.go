package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// The contents of a store that is damaged.
const (
	logs    = 40
	entries = 30 // of each log
	dueJobs = 20
)

func logID(i int) string { return fmt.Sprintf("c%02d", i) }

// textOf returns the text of a record; some need pages of their own.
func textOf(i, n int) string {
	text := fmt.Sprintf("record %d of log %d", n, i)
	if n == 7 && i%10 == 0 {
		text += string(bytes.Repeat([]byte(" and so on"), 2000))
	}
	return text
}

// filled returns the file of a store with many logs and jobs, without the pages after the last one that is used.
func filled(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	s := open(t, bolt.Config{Dir: dir, Reserve: 1})
	for i := range logs {
		var texts []string
		for n := range entries {
			texts = append(texts, textOf(i, n+1))
		}
		at := storetest.Append(t, s, logID(i), store.Position{}, texts[:10]...)
		storetest.Append(t, s, logID(i), at, texts[10:]...)
	}
	for i := range dueJobs {
		storetest.Enqueue(t, s, storetest.Job(fmt.Sprint("t", i)))
	}
	closeStore(t, s)
	data, err := os.ReadFile(filepath.Join(dir, "conversations.db"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	const pageSize = 4096
	used := len(bytes.TrimRight(data, "\x00"))
	return data[:min(len(data), (used+pageSize-1)/pageSize*pageSize)]
}

// openDamaged opens a store with this file.
func openDamaged(t *testing.T, data []byte) (dir string, s store.Store, err error) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "conversations.db"), data, 0o600); err != nil {
		t.Fatalf("write the file: %v", err)
	}
	s, err = bolt.Open(t.Context(), bolt.Config{Dir: dir, Reserve: 1})
	if err == nil {
		t.Cleanup(func() { _ = s.Close(context.Background()) })
	}
	return dir, s, err
}

// A bit is flipped somewhere in the file. Whatever is read is as it was written, or the damage is named, and the store
// stays usable.
func TestRead_AFlippedBitIsNamedOrHarmless(t *testing.T) {
	t.Parallel()
	original := filled(t)
	random := rand.New(rand.NewPCG(1, 2))
	places := []int{16, 24, 60, 4096 + 20, 4096 + 70} // the two headers
	for len(places) < 60 {
		places = append(places, random.IntN(len(original)))
	}
	named := 0
	for _, place := range places {
		t.Run(fmt.Sprint(place), func(t *testing.T) {
			data := bytes.Clone(original)
			data[place] ^= 1 << random.IntN(8)
			dir, s, err := openDamaged(t, data)
			if err != nil {
				named++
				return
			}
			if wantLogsOrDamage(t, s) {
				named++
			}
			wantUsable(t, s)
			closeStore(t, s)
			if _, err := bolt.Check(dir); err != nil {
				t.Errorf("check: got error %v, want none", err)
			}
		})
	}
	t.Logf("%d of %d flipped bits were noticed", named, len(places))
	if named == 0 {
		t.Error("no flipped bit was noticed")
	}
}

// wantLogsOrDamage checks that every log is read as it was written, but for the damage that reading it returns. It
// reports whether anything was named.
func wantLogsOrDamage(t *testing.T, s store.Store) (named bool) {
	t.Helper()
	h, err := s.Health(t.Context())
	named = err != nil || len(h.Losses) > 0 || len(h.Warnings) > 0
	lostCommit := len(h.Losses) > 0
	var ids []string
	for head, err := range s.Conversations(t.Context(), "") {
		if err != nil {
			named = true
			break
		}
		ids = append(ids, head.ID)
	}
	for i := range logs {
		id := logID(i)
		damaged := readThrough(t, s, i)
		named = named || damaged
		if !damaged && !named && !slices.Contains(ids, id) {
			t.Errorf("list: got %v, want %s", ids, id)
		}
	}
	if slices.Reverse(ids); !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("list: got %v, want each once in descending order", ids)
	}
	return named || lostCommit
}

// readThrough reads a log behind all damage, and reports whether there was any.
func readThrough(t *testing.T, s store.Store, i int) (damaged bool) {
	t.Helper()
	id, next := logID(i), int64(1)
	for {
		var damage *store.Damage
		for r, err := range s.Read(t.Context(), id, next-1) {
			if errors.As(err, &damage) {
				break
			}
			if err != nil {
				t.Errorf("read %s: got error %v, want damage or none", id, err)
				return true
			}
			want := storetest.Records(textOf(i, int(r.N)))[0]
			if r.N != next || string(r.Body) != string(want.Body) || r.Type != want.Type || r.Turn != want.Turn {
				t.Errorf("read %s: got record %d with %.60s, want record %d with %.60s", id, r.N, r.Body, next, want.Body)
			}
			next++
		}
		if damage == nil {
			break
		}
		damaged = true
		if damage.Next == 0 {
			return true
		}
		if damage.Next <= damage.N || damage.N != next {
			t.Errorf("read %s behind %d: got %v", id, next-1, damage)
			return true
		}
		next = damage.Next
	}
	if !damaged && next != entries+1 {
		t.Errorf("read %s: got %d records and no damage, want %d", id, next-1, entries)
	}
	return damaged
}

// wantUsable checks that a damaged store still takes writes, each of which is done or refused, and gives jobs.
func wantUsable(t *testing.T, s store.Store) {
	t.Helper()
	done := 0
	for i := range logs {
		end, err := s.End(t.Context(), logID(i))
		if err != nil {
			continue
		}
		text := textOf(i, int(end.N+1))
		if _, err := s.Append(t.Context(), logID(i), end, storetest.Records(text)...); err != nil {
			continue
		}
		done++
		if !slices.ContainsFunc(recordsAfter(s, logID(i), end.N), func(r store.Record) bool {
			return string(r.Body) == string(storetest.Records(text)[0].Body)
		}) && !isDamaged(s, logID(i), end.N) {
			t.Errorf("read what was appended to %s behind %d: neither the record nor damage", logID(i), end.N)
		}
	}
	if done == 0 {
		t.Log("no log takes writes")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range dueJobs {
		h, err := s.Health(ctx)
		if err != nil || h.Due == 0 || len(h.Warnings) > 0 {
			return
		}
		l, err := s.Take(ctx)
		if err != nil {
			return
		}
		_ = l.Ack()
	}
}

func recordsAfter(s store.Store, id string, after int64) (all []store.Record) {
	for r, err := range s.Read(context.Background(), id, after) {
		if err != nil {
			break
		}
		all = append(all, r)
	}
	return all
}

func isDamaged(s store.Store, id string, after int64) bool {
	for _, err := range s.Read(context.Background(), id, after) {
		if err != nil {
			return true
		}
	}
	return false
}

// A file that was cut is mapped beyond its end: reading there is a fault, and an error.
func TestRead_ACutFileIsNamed(t *testing.T) {
	t.Parallel()
	original := filled(t)
	for _, part := range []int{0, 10, 30, 50, 70} {
		dir, s, err := openDamaged(t, original[:len(original)*part/100/4096*4096])
		if err != nil {
			continue
		}
		if !wantLogsOrDamage(t, s) {
			t.Errorf("%d %% of the file: nothing is named", part)
		}
		wantUsable(t, s)
		closeStore(t, s)
		if problems, err := bolt.Check(dir); err != nil || len(problems) == 0 {
			t.Errorf("check %d %% of the file: got %v, %v; want problems", part, problems, err)
		}
	}
}

// A page leads to itself. Reading a store with it would end the process, which the check does not: it says so.
func TestCheck_NamesPagesThatLeadInACircle(t *testing.T) {
	t.Parallel()
	data := filled(t)
	const pageSize, branch = 4096, 1
	for page := range len(data) / pageSize {
		at := data[page*pageSize:]
		if binary.NativeEndian.Uint64(at) == uint64(page) && binary.NativeEndian.Uint16(at[8:]) == branch {
			binary.NativeEndian.PutUint64(at[16+16+8:], uint64(page)) // of its second element
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "conversations.db"), data, 0o600); err != nil {
		t.Fatalf("write the file: %v", err)
	}
	problems, err := bolt.Check(dir)
	if err == nil || len(problems) != 1 || !strings.Contains(problems[0], "circle") {
		t.Errorf("check: got %v, %v; want a problem and an error about a circle", problems, err)
	}
}

// A damaged job is dropped and reported, and the jobs after it are taken.
func TestTake_DropsADamagedJob(t *testing.T) {
	t.Parallel()
	data := filled(t)
	flipped := bytes.ReplaceAll(data, []byte(`"of":"t0"`), []byte(`"of":"t9"`))
	_, s, err := openDamaged(t, flipped)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	for i := range dueJobs - 1 {
		l := storetest.Take(t, subject(s))
		if want := fmt.Sprint("t", i+1); l.Job().Turn != want || l.Ack() != nil {
			t.Errorf("take: got %s, want %s", l.Job().Turn, want)
		}
	}
	h, err := s.Health(t.Context())
	if err != nil || len(h.Losses) != 1 || !h.Losses[0].Jobs || h.Due+h.Leased > 1 {
		t.Errorf("health: got %+v, %v; want one lost job, and no other", h, err)
	}
}
