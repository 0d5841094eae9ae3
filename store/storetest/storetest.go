// Package storetest has the conformance suite of package store, which every
// implementation runs, and helpers for the tests of stores.
package storetest

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

// Subject is an empty store under test and its times.
type Subject struct {
	store.Store
	Lease time.Duration // how long a lease lasts
	Tick  time.Duration // the shortest difference of instants that the store keeps
}

// Case is one test of the suite.
type Case struct {
	Name string
	Test func(t *testing.T, s Subject)
}

// Cases returns all cases, for callers that run each in surroundings of its own.
func Cases() []Case {
	var all []Case
	for _, group := range []map[string]func(*testing.T, Subject){logCases, repeatCases, queueCases, pubSubCases, kvCases, closeCases} {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			all = append(all, Case{name, group[name]})
		}
	}
	return all
}

// Run runs all cases in parallel, each on a store of its own. open closes the store at the end of its test.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Test(t, open(t))
		})
	}
}

// bodies compares bodies at once: byte by byte takes seconds for large ones.
var bodies = cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })

// Records returns one record for each text.
func Records(texts ...string) []store.Record {
	all := make([]store.Record, len(texts))
	for i, text := range texts {
		body, _ := json.Marshal(map[string]string{"text": text})
		all[i] = store.Record{Time: time.Unix(1e9, int64(i)).UTC(), Turn: "t1", Type: "said", Body: body}
	}
	return all
}

// Numbered returns records as they are read back, from a number on.
func Numbered(from int64, texts ...string) []store.Record {
	all := Records(texts...)
	for i := range all {
		all[i].N = from + int64(i)
	}
	return all
}

// Append appends a record for each text in one append, and returns the new end.
func Append(t testing.TB, s store.Log, conversation string, at store.Position, texts ...string) store.Position {
	t.Helper()
	end, err := s.Append(t.Context(), conversation, at, Records(texts...)...)
	if err != nil {
		t.Fatalf("append to %s behind %d: %v", conversation, at.N, err)
	}
	return end
}

// WantLog checks the records of a log behind a number.
func WantLog(t *testing.T, s store.Log, conversation string, after int64, want ...store.Record) {
	t.Helper()
	var got []store.Record
	for r, err := range s.Read(t.Context(), conversation, after) {
		if err != nil {
			t.Fatalf("read %s behind %d: %v", conversation, after, err)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(want, got, bodies); diff != "" {
		t.Errorf("records of %s behind %d (-want +got):\n%s", conversation, after, diff)
	}
}

// WantError checks that an operation ended with an error.
func WantError(t *testing.T, operation string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", operation, got, want)
	}
}

// Take takes a job that is due now or soon.
func Take(t testing.TB, s Subject) store.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second+2*s.Lease+20*s.Tick)
	defer cancel()
	l, err := s.Take(ctx)
	if err != nil {
		t.Fatalf("take a job: %v", err)
	}
	return l
}

// WantNoJob checks that no job becomes due within some ticks.
func WantNoJob(t *testing.T, s Subject) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*s.Tick)
	defer cancel()
	if l, err := s.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("take: got %v, %v; want no job", l, err)
	}
}

// ack acknowledges a job.
func ack(t testing.TB, l store.Lease) {
	t.Helper()
	if err := l.Ack(); err != nil {
		t.Fatalf("acknowledge job of %s: %v", l.Job().Turn, err)
	}
}

// Job returns a job for a turn.
func Job(turn string) store.Job {
	return store.Job{Conversation: "c." + turn, Turn: turn, Body: json.RawMessage(`{"of":"` + turn + `"}`)}
}

// Enqueue enqueues jobs.
func Enqueue(t testing.TB, s store.Queue, jobs ...store.Job) {
	t.Helper()
	for _, j := range jobs {
		if err := s.Enqueue(t.Context(), j); err != nil {
			t.Fatalf("enqueue job of %s: %v", j.Turn, err)
		}
	}
}

// Schedule schedules a job in a number of ticks, and returns the instant.
func Schedule(t testing.TB, s Subject, j store.Job, ticks int) time.Time {
	t.Helper()
	at := time.Now().Add(time.Duration(ticks) * s.Tick)
	if err := s.Schedule(t.Context(), j, at); err != nil {
		t.Fatalf("schedule job of %s: %v", j.Turn, err)
	}
	return at
}

// receive returns the next message of a subscription.
func receive(t *testing.T, messages <-chan store.Message) store.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case m, ok := <-messages:
		if !ok {
			t.Fatal("receive a message: the channel is closed")
		}
		return m
	case <-ctx.Done():
		t.Fatal("receive a message: none arrived")
	}
	panic("not reached")
}

// Subscribe subscribes to a topic until ctx ends.
func Subscribe(t testing.TB, ctx context.Context, s store.PubSub, topic string) <-chan store.Message {
	t.Helper()
	messages, err := s.Subscribe(ctx, topic)
	if err != nil {
		t.Fatalf("subscribe to %s: %v", topic, err)
	}
	return messages
}

// names returns n names with a prefix, in order.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return all
}
