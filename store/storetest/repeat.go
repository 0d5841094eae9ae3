package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store"
)

// repeatCases repeat writes, and delete beside other writes.
var repeatCases = map[string]func(*testing.T, Subject){
	"a repeated append is stored once": func(t *testing.T, s Subject) {
		var want []store.Record
		at := store.Position{}
		for i, text := range []string{"a", strings.Repeat("large ", 60<<10), "b"} {
			records := Records(text)
			end, err := s.Append(t.Context(), "c1", at, records...)
			if err != nil {
				t.Fatalf("append: %v", err)
			}
			_, err = s.Append(t.Context(), "c1", at, records...)
			WantError(t, "the same append again", err, store.ErrConflict)
			at, want = end, append(want, Numbered(int64(i+1), text)...)
		}
		WantLog(t, s, "c1", 0, want...)
	},
	"an append whose caller has left is repeated and stored once": appendAfterLeaving,
	"an entry whose caller has left is put again":                 putAfterLeaving,
	"a deleted log takes no append again": func(t *testing.T, s Subject) {
		texts := []string{"a", strings.Repeat("large ", 60<<10)}
		first := Append(t, s, "c1", store.Position{}, texts[0])
		last := Append(t, s, "c1", first, texts[1])
		if err := s.Delete(t.Context(), "c1"); err != nil {
			t.Fatalf("delete: %v", err)
		}
		for i, at := range []store.Position{{}, first, last} {
			_, err := s.Append(t.Context(), "c1", at, Records(texts[i%2])...)
			WantError(t, fmt.Sprintf("append behind record %d again", at.N), err, store.ErrDeleted)
		}
		for _, err := range s.Read(t.Context(), "c1", 0) {
			WantError(t, "read", err, store.ErrDeleted)
		}
		for h := range s.Conversations(t.Context(), "") {
			t.Errorf("list: got %v, want nothing", h)
		}
	},
	"logs are deleted beside other writes": deleteBeside,
	"jobs are removed beside other writes": removeBeside,
}

// appendAfterLeaving appends with contexts that end at some moment of the append. The outcome is not known then, and
// the log says what is to be done.
func appendAfterLeaving(t *testing.T, s Subject) {
	texts, at := names("text", 30), store.Position{}
	for i, text := range texts {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		end, err := s.Append(ctx, "c1", at, Records(text)...)
		cancel()
		for err != nil {
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrConflict) {
				t.Fatalf("append %d: %v", i, err)
			}
			var stored []store.Record
			if stored, end, err = store.Load(t.Context(), s, "c1", 0); err != nil {
				t.Fatalf("load: %v", err)
			}
			if len(stored) == i {
				end, err = s.Append(t.Context(), "c1", end, Records(text)...)
			}
		}
		at = end
	}
	var want []store.Record
	for i, text := range texts {
		want = append(want, Numbered(int64(i+1), text)...)
	}
	WantLog(t, s, "c1", 0, want...)
}

// putAfterLeaving puts with contexts that end at some moment of the put. The outcome is not known then, and the entry says
// what is to be done.
func putAfterLeaving(t *testing.T, s Subject) {
	var last store.Entry
	for i, value := range names("value", 30) {
		want := store.Entry{Key: "a", Value: []byte(value), Revision: last.Revision}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		stored, err := s.Put(ctx, want, time.Hour)
		cancel()
		for err != nil {
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrConflict) {
				t.Fatalf("put %d: %v", i, err)
			}
			if stored = get(t, s, "a"); string(stored.Value) == value {
				break
			}
			if want.Revision = stored.Revision; stored.Revision != last.Revision {
				t.Fatalf("put %d: got revision %d with %q, want the one before, or its own", i, stored.Revision, stored.Value)
			}
			stored, err = s.Put(t.Context(), want, time.Hour)
		}
		last = stored
	}
	if diff := cmp.Diff(last, get(t, s, "a")); diff != "" {
		t.Errorf("get (-put +got):\n%s", diff)
	}
}

// deleteBeside deletes every second log while the others grow. Their records are neighbours.
func deleteBeside(t *testing.T, s Subject) {
	const logs, before, more = 16, 12, 6
	ids, texts := names("c", logs), names("text", before+more)
	ends := make([]store.Position, logs)
	for i, id := range ids {
		ends[i] = Append(t, s, id, store.Position{}, texts[:before]...)
	}
	var writers sync.WaitGroup
	for i, id := range ids {
		writers.Go(func() {
			if i%2 > 0 {
				if err := s.Delete(t.Context(), id); err != nil {
					t.Errorf("delete %s: %v", id, err)
				}
				return
			}
			at, err := ends[i], error(nil)
			for n := before; n < before+more && err == nil; n++ {
				at, err = s.Append(t.Context(), id, at, Records(texts[n])...)
			}
			if err != nil {
				t.Errorf("append to %s: %v", id, err)
			}
		})
	}
	writers.Wait()
	var listed, left []string
	for h, err := range s.Conversations(t.Context(), "") {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		listed = append([]string{h.ID}, listed...)
	}
	for i, id := range ids {
		if i%2 > 0 {
			_, err := s.End(t.Context(), id)
			WantError(t, "end of "+id, err, store.ErrDeleted)
			continue
		}
		left = append(left, id)
		want := Numbered(1, texts[:before]...)
		for n := before; n < before+more; n++ {
			want = append(want, Numbered(int64(n+1), texts[n])...)
		}
		WantLog(t, s, id, 0, want...)
	}
	if diff := cmp.Diff(left, listed); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

// removeBeside takes jobs and unschedules others while more are enqueued and scheduled.
func removeBeside(t *testing.T, s Subject) {
	const jobs = 12
	first, later := names("first", jobs), names("later", jobs)
	for _, turn := range first {
		Enqueue(t, s, Job(turn))
		Schedule(t, s, Job("never-"+turn), 100_000)
	}
	var mu sync.Mutex
	taken := map[string]int{}
	take := func() {
		l := Take(t, s)
		ack(t, l)
		mu.Lock()
		defer mu.Unlock()
		taken[l.Job().Turn]++
	}
	var writers sync.WaitGroup
	for i := range jobs {
		writers.Go(take)
		writers.Go(func() {
			if err := s.Unschedule(t.Context(), "never-"+first[i]); err != nil {
				t.Errorf("unschedule: %v", err)
			}
		})
		writers.Go(func() { Enqueue(t, s, Job(later[i])) })
	}
	writers.Wait()
	for range jobs {
		take()
	}
	for _, turn := range append(first, later...) {
		if taken[turn] != 1 {
			t.Errorf("the job of %s was taken %d times, want once", turn, taken[turn])
		}
	}
	WantNoJob(t, s)
	if h, err := s.Health(t.Context()); err != nil || h.Due+h.Leased+h.Scheduled > 0 {
		t.Errorf("health: got %d due, %d leased and %d scheduled, error %v; want none", h.Due, h.Leased, h.Scheduled, err)
	}
}
