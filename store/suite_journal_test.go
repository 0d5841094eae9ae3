package store_test

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

var journalCases = map[string]func(*testing.T, world){
	"what was appended is read in order": func(t *testing.T, w world) {
		at := add(t, w, "c1", store.Position{}, "a", "b")
		add(t, w, "other", store.Position{}, "x")
		at = add(t, w, "c1", at, "c")
		if at.N != 3 {
			t.Errorf("the end is %v", at)
		}
		wantLog(t, w, "c1", 0, append(numbered(1, "a", "b"), numbered(3, "c")...)...)
		wantLog(t, w, "c1", 1, append(numbered(1, "a", "b")[1:], numbered(3, "c")...)...)
		wantLog(t, w, "c1", 3)
		wantLog(t, w, "c1", 99)
		if end, err := w.End(t.Context(), "c1"); err != nil || end != at {
			t.Errorf("got %v, %v; want %v", end, err, at)
		}
	},
	"a log that does not exist is empty": func(t *testing.T, w world) {
		wantLog(t, w, "nobody", 0)
		if end, err := w.End(t.Context(), "nobody"); err != nil || end != (store.Position{}) {
			t.Error(end, err)
		}
		if err := w.Delete(t.Context(), "nobody"); err != nil {
			t.Error(err)
		}
		add(t, w, "nobody", store.Position{}, "a")
	},
	"an append behind an end that has moved conflicts and leaves nothing": func(t *testing.T, w world) {
		first := add(t, w, "c1", store.Position{}, "a")
		add(t, w, "c1", first, "b")
		for _, at := range []store.Position{{}, first} {
			_, err := w.Append(t.Context(), "c1", at, records("x", "y")...)
			wantError(t, "late", err, store.ErrConflict)
		}
		wantLog(t, w, "c1", 0, append(numbered(1, "a"), numbered(2, "b")...)...)
	},
	"an append behind an end that never was conflicts": func(t *testing.T, w world) {
		_, err := w.Append(t.Context(), "c1", store.Position{N: 1, Seq: 1, Hash: "x"}, records("x")...)
		wantError(t, "nowhere", err, store.ErrConflict)
		wantLog(t, w, "c1", 0)
	},
	"the same records of two writers are written once": func(t *testing.T, w world) {
		add(t, w, "c1", store.Position{}, "a")
		_, err := w.Append(t.Context(), "c1", store.Position{}, records("a")...)
		wantError(t, "second", err, store.ErrConflict)
	},
	"writers that race leave every record once and no hole": racers,
	"what cannot be taken is refused and leaves nothing":    refused,
	"records come back as they were": func(t *testing.T, w world) {
		odd := []store.Record{
			{Time: time.Date(2026, 11, 21, 18, 0, 0, 123456789, time.UTC), Type: "bare"},
			{Time: time.Unix(0, 0).UTC(), Type: "odd", Turn: "t-1", Body: json.RawMessage(`{"a":"<&>   é \u0000","n":1e400,"deep":[{}]}`)},
		}
		if _, err := w.Append(t.Context(), "c1", store.Position{}, odd...); err != nil {
			t.Fatal(err)
		}
		odd[0].N, odd[1].N = 1, 2
		wantLog(t, w, "c1", 0, odd...)
	},
	"large records are kept whole": func(t *testing.T, w world) {
		texts := []string{strings.Repeat("large ", 60<<10), "small", strings.Repeat("larger ", 600<<10)}
		at := add(t, w, "c1", store.Position{}, texts[0])
		add(t, w, "c1", at, texts[1:]...)
		wantLog(t, w, "c1", 0, append(numbered(1, texts[0]), numbered(2, texts[1:]...)...)...)
	},
	"many records are read whole": func(t *testing.T, w world) {
		texts, at := names("text", 700), store.Position{}
		for i := 0; i < len(texts); i += 2 {
			at = add(t, w, "c1", at, texts[i:i+2]...)
		}
		got, end, err := store.Load(t.Context(), w, "c1", 0)
		if err != nil || end != at || len(got) != len(texts) {
			t.Fatal(len(got), end, err)
		}
		if got, _, err := store.Load(t.Context(), w, "c1", 650); err != nil || len(got) != 50 || got[0].N != 651 {
			t.Error(len(got), err)
		}
		for r, err := range w.Read(t.Context(), "c1", 10) {
			if r.N != 11 || err != nil {
				t.Error(r, err)
			}
			break
		}
	},
	"a deleted log is gone for good": func(t *testing.T, w world) {
		at := add(t, w, "c1", store.Position{}, "a", strings.Repeat("large ", 60<<10))
		for range 2 {
			if err := w.Delete(t.Context(), "c1"); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []store.Position{{}, at} {
			_, err := w.Append(t.Context(), "c1", at, records("x")...)
			wantError(t, "append", err, store.ErrDeleted)
		}
		_, err := w.End(t.Context(), "c1")
		wantError(t, "end", err, store.ErrDeleted)
		for _, err := range w.Read(t.Context(), "c1", 0) {
			wantError(t, "read", err, store.ErrDeleted)
		}
	},
	"conversations are listed from the highest id down": listed,
	"who has left is told why": func(t *testing.T, w world) {
		why := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		_, err := w.Append(ctx, "c1", store.Position{}, records("a")...)
		wantError(t, "append", err, why)
		for _, err := range w.Read(ctx, "c1", 0) {
			wantError(t, "read", err, why)
		}
		_, err = w.Take(ctx)
		wantError(t, "take", err, why)
	},
}

func racers(t *testing.T, w world) {
	var writers sync.WaitGroup
	for _, name := range names("w", 8) {
		writers.Go(func() {
			for range 10 {
				for {
					end, err := w.End(t.Context(), "c1")
					if err == nil {
						_, err = w.Append(t.Context(), "c1", end, records(name)...)
					}
					if err == nil {
						break
					}
					if !errors.Is(err, store.ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	count := map[string]int{}
	n := int64(0)
	for r, err := range w.Read(t.Context(), "c1", 0) {
		if n++; err != nil || r.N != n {
			t.Fatal(r.N, n, err)
		}
		count[string(r.Body)]++
	}
	for body, times := range count {
		if times != 10 || len(count) != 8 {
			t.Errorf("%s: %d times", body, times)
		}
	}
}

func refused(t *testing.T, w world) {
	said := func(body string) store.Record { return store.Record{Type: "said", Body: json.RawMessage(body)} }
	for _, c := range []struct {
		id      string
		want    error
		records []store.Record
	}{
		{"", store.ErrInvalid, records("a")},
		{"a b", store.ErrInvalid, records("a")},
		{"a..b", store.ErrInvalid, records("a")},
		{".a", store.ErrInvalid, records("a")},
		{"a.", store.ErrInvalid, records("a")},
		{"*", store.ErrInvalid, records("a")},
		{"a.>", store.ErrInvalid, records("a")},
		{"ä", store.ErrInvalid, records("a")},
		{strings.Repeat("a", 129), store.ErrInvalid, records("a")},
		{"c1", store.ErrInvalid, nil},
		{"c1", store.ErrInvalid, []store.Record{said(`[]`)}},
		{"c1", store.ErrInvalid, []store.Record{said(`{`)}},
		{"c1", store.ErrInvalid, []store.Record{said("{\"a\":\"\xff\"}")}},
		{"c1", store.ErrInvalid, []store.Record{{Body: json.RawMessage(`{}`)}}},
		{"c1", store.ErrInvalid, []store.Record{{Type: "said", Turn: "a b"}}},
		{"c1", store.ErrInvalid, []store.Record{{Type: "said", Time: time.Date(1e5, 1, 1, 0, 0, 0, 0, time.UTC)}}},
		{"c1", store.ErrTooLarge, records(strings.Repeat("a", 33<<20))},
	} {
		_, err := w.Append(t.Context(), c.id, store.Position{}, c.records...)
		wantError(t, c.id, err, c.want)
	}
	wantLog(t, w, "c1", 0)
	add(t, w, "tenant-1.c_1.X", store.Position{}, "a")
}

func listed(t *testing.T, w world) {
	ids := names("c", 40)
	for _, id := range ids {
		add(t, w, id, add(t, w, id, store.Position{}, "first of "+id, "second"), "last of "+id)
	}
	if err := w.Delete(t.Context(), "c020"); err != nil {
		t.Fatal(err)
	}
	heads := func(before string, most int) (got []string) {
		for h, err := range w.Conversations(t.Context(), before) {
			if err != nil || h.First.N != 1 || h.Last.N != 3 || h.End.N != 3 {
				t.Fatal(h, err)
			}
			if got = append(got, h.ID); len(got) == most {
				break
			}
		}
		return got
	}
	if all := heads("", 99); len(all) != 39 || all[0] != "c039" || all[38] != "c000" {
		t.Error(all)
	}
	if diff := cmp.Diff([]string{"c021", "c019", "c018"}, heads("c022", 3)); diff != "" {
		t.Error(diff)
	}
	if none := heads("c000", 3); none != nil {
		t.Error(none)
	}
}
