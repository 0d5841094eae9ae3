package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store"
)

// world is an engine under test and what the cases have to know of it.
type world struct {
	store.Store
	lease time.Duration // how long a claim holds
	tick  time.Duration // the shortest time that it keeps apart
}

// run gives a case a world of its own, under a name.
type run func(t *testing.T, name string, c func(t *testing.T, w world))

// conform holds engines to everything that is promised of them.
func conform(t *testing.T, r run) {
	for _, cases := range []map[string]func(*testing.T, world){journalCases, queueCases, liveCases, sharedCases, endCases} {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			r(t, name, cases[name])
		}
	}
}

// whole compares bodies at once: byte by byte takes seconds for large ones.
var whole = cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })

// records makes records of one type, one for each text.
func records(texts ...string) []store.Record {
	all := make([]store.Record, len(texts))
	for i, text := range texts {
		body, _ := json.Marshal(map[string]string{"text": text})
		all[i] = store.Record{Time: time.Unix(1e9, int64(i)).UTC(), Turn: "t1", Type: "said", Body: body}
	}
	return all
}

// numbered are records as they come back, from a number on.
func numbered(from int64, texts ...string) []store.Record {
	all := records(texts...)
	for i := range all {
		all[i].N = from + int64(i)
	}
	return all
}

// add appends one record to a log, where it ends.
func add(t *testing.T, w world, conversation string, at store.Position, texts ...string) store.Position {
	t.Helper()
	end, err := w.Append(t.Context(), conversation, at, records(texts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// wantLog wants a log to be exactly that behind a number.
func wantLog(t *testing.T, w world, conversation string, after int64, want ...store.Record) {
	t.Helper()
	var got []store.Record
	for r, err := range w.Read(t.Context(), conversation, after) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(want, got, whole); diff != "" {
		t.Error(diff)
	}
}

// wantError wants an error of a kind.
func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// take takes a ticket that must come.
func take(t *testing.T, w world) store.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second+2*w.lease+20*w.tick)
	defer cancel()
	c, err := w.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// takeNone wants no ticket to come for some ticks.
func takeNone(t *testing.T, w world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*w.tick)
	defer cancel()
	if c, err := w.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("took %v, %v", c, err)
	}
}

// finish says that a claim is done.
func finish(t *testing.T, c store.Lease) {
	t.Helper()
	if err := c.Done(); err != nil {
		t.Fatal(err)
	}
}

// ticket makes a ticket for a turn.
func ticket(turn string) store.Job {
	return store.Job{Conversation: "c." + turn, Turn: turn, Body: json.RawMessage(`{"of":"` + turn + `"}`)}
}

// offer offers tickets.
func offer(t *testing.T, w world, tickets ...store.Job) {
	t.Helper()
	for _, one := range tickets {
		if err := w.Enqueue(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
}

// park parks a ticket for a number of ticks.
func park(t *testing.T, w world, one store.Job, ticks int) time.Time {
	t.Helper()
	at := time.Now().Add(time.Duration(ticks) * w.tick)
	if err := w.Schedule(t.Context(), one, at); err != nil {
		t.Fatal(err)
	}
	return at
}

// next gives what a listener hears next.
func next(t *testing.T, heard <-chan store.Message) store.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case h, ok := <-heard:
		if !ok {
			t.Fatal("the channel is closed")
		}
		return h
	case <-ctx.Done():
		t.Fatal("nothing was heard")
	}
	panic("not reached")
}

// listen listens to a topic.
func listen(t *testing.T, ctx context.Context, w world, topic string) <-chan store.Message {
	t.Helper()
	heard, err := w.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	return heard
}

// names are n names that start with a prefix, in order.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return all
}
