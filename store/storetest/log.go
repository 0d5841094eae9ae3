package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store"
)

var logCases = map[string]func(*testing.T, Subject){
	"appended records are read in order": func(t *testing.T, s Subject) {
		at := Append(t, s, "c1", store.Position{}, "a", "b")
		Append(t, s, "other", store.Position{}, "x")
		at = Append(t, s, "c1", at, "c")
		if at.N != 3 {
			t.Errorf("end of c1: got %d records, want 3", at.N)
		}
		WantLog(t, s, "c1", 0, append(Numbered(1, "a", "b"), Numbered(3, "c")...)...)
		WantLog(t, s, "c1", 1, append(Numbered(1, "a", "b")[1:], Numbered(3, "c")...)...)
		WantLog(t, s, "c1", 3)
		WantLog(t, s, "c1", 99)
		if end, err := s.End(t.Context(), "c1"); err != nil || end != at {
			t.Errorf("end of c1: got %v, %v; want %v", end, err, at)
		}
	},
	"a log that does not exist is empty": func(t *testing.T, s Subject) {
		WantLog(t, s, "unknown", 0)
		if end, err := s.End(t.Context(), "unknown"); err != nil || end != (store.Position{}) {
			t.Errorf("end of a log that does not exist: got %v, %v; want none", end, err)
		}
		if err := s.Delete(t.Context(), "unknown"); err != nil {
			t.Errorf("delete a log that does not exist: %v", err)
		}
		Append(t, s, "unknown", store.Position{}, "a")
	},
	"an append behind an old end conflicts and writes nothing": func(t *testing.T, s Subject) {
		first := Append(t, s, "c1", store.Position{}, "a")
		Append(t, s, "c1", first, "b")
		for _, at := range []store.Position{{}, first} {
			_, err := s.Append(t.Context(), "c1", at, Records("x", "y")...)
			WantError(t, "append behind an old end", err, store.ErrConflict)
		}
		WantLog(t, s, "c1", 0, append(Numbered(1, "a"), Numbered(2, "b")...)...)
	},
	"an append behind an end that never existed conflicts": func(t *testing.T, s Subject) {
		_, err := s.Append(t.Context(), "c1", store.Position{N: 1, Seq: 1, Hash: "x"}, Records("x")...)
		WantError(t, "append behind no end", err, store.ErrConflict)
		WantLog(t, s, "c1", 0)
	},
	"equal records of two writers conflict": func(t *testing.T, s Subject) {
		Append(t, s, "c1", store.Position{}, "a")
		_, err := s.Append(t.Context(), "c1", store.Position{}, Records("a")...)
		WantError(t, "second append", err, store.ErrConflict)
	},
	"concurrent appends leave all records and no gap": concurrentAppends,
	"invalid appends are refused and write nothing":   invalidAppends,
	"records are read as they were appended": func(t *testing.T, s Subject) {
		odd := []store.Record{
			{Time: time.Date(2026, 11, 21, 18, 0, 0, 123456789, time.UTC), Type: "bare"},
			{Time: time.Unix(0, 0).UTC(), Type: "odd", Turn: "t-1", Body: json.RawMessage(`{"a":"<&>   é \u0000","n":1e400,"deep":[{}]}`)},
		}
		if _, err := s.Append(t.Context(), "c1", store.Position{}, odd...); err != nil {
			t.Fatalf("append: %v", err)
		}
		odd[0].N, odd[1].N = 1, 2
		WantLog(t, s, "c1", 0, odd...)
	},
	"large records are stored whole": func(t *testing.T, s Subject) {
		texts := []string{strings.Repeat("large ", 60<<10), "small", strings.Repeat("larger ", 600<<10)}
		at := Append(t, s, "c1", store.Position{}, texts[0])
		Append(t, s, "c1", at, texts[1:]...)
		WantLog(t, s, "c1", 0, append(Numbered(1, texts[0]), Numbered(2, texts[1:]...)...)...)
	},
	"many records are read completely": func(t *testing.T, s Subject) {
		texts, at := names("text", 700), store.Position{}
		for i := 0; i < len(texts); i += 2 {
			at = Append(t, s, "c1", at, texts[i:i+2]...)
		}
		got, end, err := store.Load(t.Context(), s, "c1", 0)
		if err != nil || end != at || len(got) != len(texts) {
			t.Fatalf("load: got %d records, %v, %v; want %d and %v", len(got), end, err, len(texts), at)
		}
		if got, _, err := store.Load(t.Context(), s, "c1", 650); err != nil || len(got) != 50 || got[0].N != 651 {
			t.Errorf("load behind 650: got %d records, %v; want 50 from 651 on", len(got), err)
		}
		for r, err := range s.Read(t.Context(), "c1", 10) {
			if r.N != 11 || err != nil {
				t.Errorf("read behind 10: got %v, %v; want record 11", r, err)
			}
			break
		}
	},
	"a deleted log stays deleted": func(t *testing.T, s Subject) {
		at := Append(t, s, "c1", store.Position{}, "a", strings.Repeat("large ", 60<<10))
		for range 2 {
			if err := s.Delete(t.Context(), "c1"); err != nil {
				t.Fatalf("delete: %v", err)
			}
		}
		for _, at := range []store.Position{{}, at} {
			_, err := s.Append(t.Context(), "c1", at, Records("x")...)
			WantError(t, "append", err, store.ErrDeleted)
		}
		_, err := s.End(t.Context(), "c1")
		WantError(t, "end", err, store.ErrDeleted)
		for _, err := range s.Read(t.Context(), "c1", 0) {
			WantError(t, "read", err, store.ErrDeleted)
		}
	},
	"conversations are listed by descending id": listLogs,
	"operations end with the cause of their context": func(t *testing.T, s Subject) {
		cause := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		_, err := s.Append(ctx, "c1", store.Position{}, Records("a")...)
		WantError(t, "append", err, cause)
		for _, err := range s.Read(ctx, "c1", 0) {
			WantError(t, "read", err, cause)
		}
		_, err = s.Take(ctx)
		WantError(t, "take", err, cause)
	},
}

func concurrentAppends(t *testing.T, s Subject) {
	var writers sync.WaitGroup
	for _, name := range names("w", 8) {
		writers.Go(func() {
			for range 10 {
				for {
					end, err := s.End(t.Context(), "c1")
					if err == nil {
						_, err = s.Append(t.Context(), "c1", end, Records(name)...)
					}
					if err == nil {
						break
					}
					if !errors.Is(err, store.ErrConflict) {
						t.Errorf("append by %s: %v", name, err)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	count := map[string]int{}
	n := int64(0)
	for r, err := range s.Read(t.Context(), "c1", 0) {
		if n++; err != nil || r.N != n {
			t.Fatalf("read record %d: got %d, %v", n, r.N, err)
		}
		count[string(r.Body)]++
	}
	for body, times := range count {
		if times != 10 || len(count) != 8 {
			t.Errorf("%s was appended %d times by one of %d writers, want 10 times by each of 8", body, times, len(count))
		}
	}
}

func invalidAppends(t *testing.T, s Subject) {
	said := func(body string) store.Record { return store.Record{Type: "said", Body: json.RawMessage(body)} }
	for _, c := range []struct {
		id      string
		want    error
		records []store.Record
	}{
		{"", store.ErrInvalid, Records("a")},
		{"a b", store.ErrInvalid, Records("a")},
		{"a..b", store.ErrInvalid, Records("a")},
		{".a", store.ErrInvalid, Records("a")},
		{"a.", store.ErrInvalid, Records("a")},
		{"*", store.ErrInvalid, Records("a")},
		{"a.>", store.ErrInvalid, Records("a")},
		{"ä", store.ErrInvalid, Records("a")},
		{strings.Repeat("a", 129), store.ErrInvalid, Records("a")},
		{"c1", store.ErrInvalid, nil},
		{"c1", store.ErrInvalid, []store.Record{said(`[]`)}},
		{"c1", store.ErrInvalid, []store.Record{said(`{`)}},
		{"c1", store.ErrInvalid, []store.Record{said("{\"a\":\"\xff\"}")}},
		{"c1", store.ErrInvalid, []store.Record{{Body: json.RawMessage(`{}`)}}},
		{"c1", store.ErrInvalid, []store.Record{{Type: "said", Turn: "a b"}}},
		{"c1", store.ErrInvalid, []store.Record{{Type: "said", Time: time.Date(1e5, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		{"c1", store.ErrTooLarge, Records(strings.Repeat("a", 33<<20))},
	} {
		_, err := s.Append(t.Context(), c.id, store.Position{}, c.records...)
		WantError(t, c.id, err, c.want)
	}
	WantLog(t, s, "c1", 0)
	Append(t, s, "tenant-1.c_1.X", store.Position{}, "a")
}

func listLogs(t *testing.T, s Subject) {
	ids := names("c", 40)
	for _, id := range ids {
		Append(t, s, id, Append(t, s, id, store.Position{}, "first of "+id, "second"), "last of "+id)
	}
	if err := s.Delete(t.Context(), "c020"); err != nil {
		t.Fatalf("delete: %v", err)
	}
	heads := func(before string, most int) (got []string) {
		for h, err := range s.Conversations(t.Context(), before) {
			if err != nil || h.First.N != 1 || h.Last.N != 3 || h.End.N != 3 {
				t.Fatalf("list: got %v, %v; want the records 1 and 3", h, err)
			}
			if got = append(got, h.ID); len(got) == most {
				break
			}
		}
		return got
	}
	if all := heads("", 99); len(all) != 39 || all[0] != "c039" || all[38] != "c000" {
		t.Errorf("list: got %v, want c039 to c000 without c020", all)
	}
	if diff := cmp.Diff([]string{"c021", "c019", "c018"}, heads("c022", 3)); diff != "" {
		t.Errorf("list of 3 below c022 (-want +got):\n%s", diff)
	}
	if none := heads("c000", 3); none != nil {
		t.Errorf("list below c000: got %v, want none", none)
	}
}
