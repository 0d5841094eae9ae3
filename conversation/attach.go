package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Attach yields what has happened in a conversation behind a number, 0 for all, and then what happens, until
// ctx ends. A reader who comes late or again with the number of the last event that it has seen misses
// nothing of what is kept: those events are numbered without regard to what passes by, and what passes by
// has the number of the last record before it, which may be one that is no event.
//
// A wait that is in progress is reported as it stands. What passes by is heard from when Attach returns: to
// see all of a turn, attach before it is begun. The sequence is for ranging over once. It listens until ctx
// ends, even if it is not ranged over. An error comes last: ErrNotFound, a damaged log, or the store's error.
// The end of ctx is not an error.
func (r *Runner) Attach(ctx context.Context, conversation string, after int64) iter.Seq2[wire.Event, error] {
	ctx, cancel := context.WithCancel(ctx)
	f := &reader{runner: r, id: conversation, after: after}
	var end store.Position
	heard, err := r.Store.Subscribe(ctx, conversation) // first: what comes meanwhile is not missed
	if err == nil {
		end, err = r.Store.End(ctx, conversation)
	}
	return func(yield func(wire.Event, error) bool) {
		defer cancel()
		f.yield = yield
		if err == nil {
			err = f.begin(ctx, end.N)
		}
		if err == nil {
			err = f.follow(ctx, heard)
		}
		if err != nil && err != errUnread && ctx.Err() == nil {
			yield(wire.Event{}, err)
		}
	}
}

// reader follows a conversation for one caller of Attach. It keeps nothing of the history.
type reader struct {
	runner *Runner
	id     string
	at     int64 // the number of the last record that was read
	after  int64 // what the caller has seen
	yield  func(wire.Event, error) bool
	wait   store.Record // of the wait that the turn is in; zero: it is in none
	passed int64        // where the log could be read on behind the last damage
	turn   string       // that was taken up last
	works  int64        // the number of the last record of a worker: what passed by before it is stale
	paused bool         // the conversation: its wait is not told of
	resume bool         // it has been resumed, and the wait is to be told of
	told   int          // the retry of the wait that was told of last; its event is published behind its record
	toldAt int64        // the last record that was read then
}

// errUnread ends an iteration that its reader has broken off.
var errUnread = errors.New("the reader has broken off")

// begin reads a conversation up to a record.
func (f *reader) begin(ctx context.Context, end int64) error {
	if end == 0 {
		return fmt.Errorf("%w: %s", ErrNotFound, f.id)
	}
	return f.read(ctx, end)
}

// readOn reads what has been appended since.
func (f *reader) readOn(ctx context.Context) error {
	end, err := f.runner.Store.End(ctx, f.id)
	if err != nil {
		return err
	}
	return f.read(ctx, end.N)
}

// read reads the records up to a number.
func (f *reader) read(ctx context.Context, end int64) error {
	if f.at >= end {
		return nil
	}
	for record, err := range f.runner.Store.Read(ctx, f.id, f.at) {
		if d, damaged := errors.AsType[*store.Damage](err); damaged {
			return f.passDamage(ctx, d, end)
		}
		if err == nil {
			err = f.take(record)
		}
		if err != nil {
			return err
		}
		if f.at == end {
			return nil
		}
	}
	return f.passDamage(ctx, &store.Damage{Conversation: f.id, N: f.at + 1}, end)
}

// passDamage yields that records are lost, and continues after them.
func (f *reader) passDamage(ctx context.Context, d *store.Damage, end int64) error {
	if d.Next <= f.at || d.Next == f.passed {
		d.Next = end + 1 // nothing behind it can be read
	}
	f.passed = d.Next
	first, last := max(d.N, f.at+1), d.Next-1
	f.at, f.works, f.wait = last, last, store.Record{}
	if first <= last && last > f.after {
		lost := wire.RecordLost{ConversationID: f.id, First: first, Last: last}
		if !f.yield(wire.Event{Seq: last, Time: time.Now(), Body: lost}, nil) {
			return errUnread
		}
	}
	return f.read(ctx, end)
}

// take notes a record, and yields its event if there is one that the caller has not seen.
func (f *reader) take(record store.Record) error {
	f.at = record.N
	switch {
	case record.N == 1 && record.Type != created:
		return fmt.Errorf("%w: %s", ErrNotFound, f.id)
	case record.Type == created:
		if _, err := readCreation(record); err != nil {
			return &store.Damage{Conversation: f.id, N: record.N, Why: err.Error()}
		}
	case record.Type == paused, record.Type == resumed:
		f.paused, f.resume = record.Type == paused, record.Type == resumed
	case record.Type == parked, record.Type == crashed:
		f.wait = record
	case record.Type == running, public(record.Type) && !aside(record.Type) && record.Type != turn.Type(turn.UserMessage{}):
		f.wait = store.Record{} // its try has been made
	}
	if record.Type == running {
		f.turn = record.Turn
	}
	if !aside(record.Type) {
		f.works = record.N
	}
	if record.N <= f.after || !public(record.Type) {
		return nil
	}
	body, err := wire.Unmarshal(record.Type, record.Body)
	if err != nil {
		return &store.Damage{Conversation: f.id, N: record.N, Why: err.Error()}
	}
	if !f.yield(wire.Event{Seq: record.N, Time: record.Time, Body: body}, nil) {
		return errUnread
	}
	return nil
}

// public reports whether a record is public.
func public(kind string) bool {
	switch kind {
	case created, imageStored, steers, running, released, parked, crashed, survived, abortRequested, movedOn:
		return false
	}
	return true
}

// aside reports whether a record leaves the answer in progress and its wait as they are.
func aside(kind string) bool {
	switch kind {
	case created, changed, imageStored, paused, resumed, steers, inputQueued, inputRemoved, survived, abortRequested, wire.Type(wire.RecordLost{}):
		return true
	}
	return false
}

// stale reports whether an event is part of an answer that has been reported as a
// whole, or a wait that was told of: it passed by while the log was read.
func (f *reader) stale(e wire.Event) bool {
	t, _ := e.Body.(wire.Turn)
	switch heard := t.Event.(type) {
	case turn.Retry:
		return e.Seq <= f.toldAt && heard.Retry() <= f.told
	case turn.TextDelta, turn.ReasoningDelta:
		return e.Seq < f.works
	}
	return false
}

// follow yields events until ctx ends.
func (f *reader) follow(ctx context.Context, heard <-chan store.Message) error {
	if err := f.yieldWait(); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-heard:
			if !ok {
				return context.Cause(ctx)
			}
			if err := f.hear(ctx, m); err != nil {
				return err
			}
		}
	}
}

// yieldWait yields the current wait of the turn, if there is one.
func (f *reader) yieldWait() error {
	if f.resume = false; f.paused {
		return nil
	}
	now := time.Now()
	e, turnID, err := f.currentWait(now)
	switch {
	case err != nil:
		return &store.Damage{Conversation: f.id, N: f.wait.N, Why: err.Error()}
	case turnID == "":
		return nil
	}
	ref := wire.Ref{ConversationID: f.id, TurnID: turnID}
	f.told, f.toldAt = e.Retry(), f.at
	if !f.yield(wire.Event{Seq: f.at, Time: now, Body: wire.Turn{Ref: ref, Event: e}}, nil) {
		return errUnread
	}
	return nil
}

// currentWait returns what is left of the wait of the turn: for its provider, for another worker, or at a gateway
// that holds its request, which no record tells. turnID is that of the turn; "": it is in no wait.
func (f *reader) currentWait(now time.Time) (e turn.Retry, turnID string, err error) {
	switch {
	case f.wait.Type == crashed:
		c, err := read[crash](f.wait)
		return c.retry(now), f.wait.Turn, err
	case f.wait.N > 0:
		p, err := read[park](f.wait)
		p.Verdict.Wait = max(0, p.Due.Sub(now))
		return p.Retry, f.wait.Turn, err
	}
	w, ok := f.runner.waits.in(f.id)
	if !ok || !w.Held || w.Turn != f.turn {
		return e, "", nil
	}
	w.Verdict.Wait = max(0, w.Due.Sub(now))
	return w.Retry, w.Turn, nil
}

// hear handles a message.
func (f *reader) hear(ctx context.Context, m store.Message) error {
	if m.Gap || len(m.Records) > 0 && m.Records[0].N > f.at+1 {
		if err := f.readOn(ctx); err != nil {
			return err
		}
	}
	if m.Gap { // the wait may have passed by unseen
		if err := f.yieldWait(); err != nil {
			return err
		}
	}
	for _, record := range m.Records {
		if record.N <= f.at {
			continue
		}
		if err := f.take(record); err != nil {
			return err
		}
	}
	switch {
	case f.resume:
		return f.yieldWait()
	case len(m.Records) > 0:
		return nil
	}
	return f.hearEvent(ctx, m.Data)
}

// hearEvent handles what passes by. Its number is that of the last record that was read: its sender may have read
// fewer, or more. A reader that continues after its number must miss nothing and get nothing twice.
func (f *reader) hearEvent(ctx context.Context, data []byte) error {
	if string(data) == sayGone {
		return store.ErrDeleted
	}
	var e wire.Event
	if json.Unmarshal(data, &e) != nil || f.stale(e) {
		return nil // not ours, or too late
	}
	if e.Seq > f.at {
		if err := f.readOn(ctx); err != nil {
			return err
		}
	}
	e.Seq = f.at
	if !f.yield(e, nil) {
		return errUnread
	}
	return nil
}
