package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Attach yields what has happened in a conversation behind a number, 0 for all, and then what happens, until
// ctx ends. A reader who comes late or again with the number of the last event that it has seen misses
// nothing of what is kept: those events are numbered without regard to what passes by, and what passes by
// bears the number of the kept one before it.
//
// A wait that is in progress is told of as it stands. What passes by is heard from when Attach returns: to
// see all of a turn, attach before it is begun. The sequence is for ranging over once. It listens until ctx
// ends, even if it is not ranged over. The error is last: ErrNotFound, a damaged log, or that of the store;
// the end of ctx is none.
func (r *Runner) Attach(ctx context.Context, conversation string, after int64) iter.Seq2[wire.Event, error] {
	ctx, cancel := context.WithCancel(ctx)
	f := &reader{runner: r, log: &log{id: conversation}, after: after}
	var past []store.Record
	heard, err := r.Store.Subscribe(ctx, conversation) // first: what comes meanwhile is not missed
	if err == nil {
		past, f.log.at, err = store.Load(ctx, r.Store, conversation, 0)
	}
	return func(yield func(wire.Event, error) bool) {
		defer cancel()
		f.yield = yield
		if err == nil {
			err = f.take(past)
		}
		if err == nil {
			err = f.log.check()
		}
		if err == nil {
			err = f.follow(ctx, heard)
		}
		if err != nil && err != errUnread && ctx.Err() == nil {
			yield(wire.Event{}, err)
		}
	}
}

// reader follows a conversation for one caller of Attach.
type reader struct {
	runner *Runner
	log    *log
	after  int64 // what the reader has seen
	yield  func(wire.Event, error) bool
	works  int64 // the number of the last record of a worker: what passed by before it is stale
}

// errUnread ends an iteration that its reader has broken off.
var errUnread = errors.New("the reader has broken off")

// read yields the records behind those that were read.
func (r *reader) read(ctx context.Context) error {
	records, end, err := store.Load(ctx, r.runner.Store, r.log.id, r.log.at.N)
	if err != nil {
		return err
	}
	r.log.at = end
	return r.take(records)
}

// take applies records and yields those that the reader has not seen.
func (r *reader) take(records []store.Record) error {
	for _, record := range records {
		if err := r.log.fold(record); err != nil {
			return &store.Damage{Conversation: r.log.id, N: record.N, Why: err.Error()}
		}
		r.log.at.N = max(r.log.at.N, record.N)
		if !byOthers(record.Type) {
			r.works = record.N
		}
		if record.N <= r.after || !public(record.Type) {
			continue
		}
		body, err := wire.Unmarshal(record.Type, record.Body)
		if err != nil {
			return &store.Damage{Conversation: r.log.id, N: record.N, Why: err.Error()}
		}
		if !r.yield(wire.Event{Seq: record.N, Time: record.Time, Body: body}, nil) {
			return errUnread
		}
	}
	return nil
}

// public reports whether a record is public.
func public(kind string) bool {
	switch kind {
	case created, steers, running, released, parked, crashed, abortRequested:
		return false
	}
	return true
}

// byOthers reports whether a record is not of the worker of a turn.
func byOthers(kind string) bool {
	switch kind {
	case created, changed, steers, inputQueued, inputRemoved, abortRequested:
		return true
	}
	return false
}

// stale reports whether an event is part of an answer that has been told of as a
// whole: it passed by while the log was read.
func (r *reader) stale(e wire.Event) bool {
	t, _ := e.Body.(wire.Turn)
	switch t.Event.(type) {
	case turn.TextDelta, turn.ReasoningDelta:
		return e.Seq < r.works
	}
	return false
}

// follow yields events until ctx ends.
func (r *reader) follow(ctx context.Context, heard <-chan store.Message) error {
	if !r.waiting() {
		return errUnread
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case h, ok := <-heard:
			if !ok {
				return context.Cause(ctx)
			}
			if err := r.hear(ctx, h); err != nil {
				return err
			}
		}
	}
}

// waiting yields the current wait of the turn, if there is one; false: the reader has broken off.
func (r *reader) waiting() bool {
	w := r.log.now.waits
	if w == nil {
		return true
	}
	now := time.Now()
	retry := w.Retry
	retry.Verdict.Wait = max(0, w.Due.Sub(now))
	return r.yield(wire.Event{Seq: r.log.at.N, Time: now, Body: wire.Turn{
		Ref: wire.Ref{ConversationID: r.log.id, TurnID: r.log.now.id}, Event: retry,
	}}, nil)
}

// hear handles a message.
func (r *reader) hear(ctx context.Context, h store.Message) error {
	gap := len(h.Records) > 0 && h.Records[0].N > r.log.at.N+1
	if h.Gap || gap {
		if err := r.read(ctx); err != nil {
			return err
		}
	}
	if h.Gap && !r.waiting() { // it may have passed by unseen
		return errUnread
	}
	if len(h.Records) > 0 {
		fresh := h.Records
		for len(fresh) > 0 && fresh[0].N <= r.log.at.N {
			fresh = fresh[1:]
		}
		return r.take(fresh)
	}
	if string(h.Data) == sayGone {
		return store.ErrDeleted
	}
	var e wire.Event
	if json.Unmarshal(h.Data, &e) != nil || r.stale(e) {
		return nil // not ours, or too late
	}
	if !r.yield(e, nil) {
		return errUnread
	}
	return nil
}
