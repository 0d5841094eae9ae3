package conversation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

// load reads a conversation. It is the caller's own until it is put back into the cache, also where the caller fails.
func (r *Runner) load(ctx context.Context, id string) (*log, error) {
	l := r.cache.take(id)
	if err := r.catchUp(ctx, l); err != nil {
		return nil, err
	}
	return l, l.check()
}

// catchUp reads what has been appended since. What the store has lost of it is noted. A log for which it fails is not
// put back into the cache.
func (r *Runner) catchUp(ctx context.Context, l *log) error {
	_, err := r.catchUpWith(ctx, l, nil)
	return err
}

// catchUpWith is catchUp. It reports whether what has been appended begins with records that were sent.
func (r *Runner) catchUpWith(ctx context.Context, l *log, sent []store.Record) (stored bool, err error) {
	defer func() { l.untrue = l.untrue || err != nil }()
	for {
		records, end, err := store.Load(ctx, r.Store, l.id, l.at.N)
		d, damaged := errors.AsType[*store.Damage](err)
		switch {
		case err != nil && !damaged:
			return false, err
		case err == nil && (end.N < l.at.N || end.N == l.at.N && l.at.Hash != "" && end.Hash != l.at.Hash):
			return false, r.shorter(ctx, l, end)
		}
		stored = stored || len(sent) > 0 && len(records) >= len(sent) && slices.EqualFunc(records[:len(sent)], sent, sameRecord)
		sent = nil
		for _, rec := range records {
			if err := l.apply(rec); err != nil {
				return false, &store.Damage{Conversation: l.id, N: rec.N, Why: err.Error()}
			}
			l.at = store.Position{N: rec.N}
		}
		if !damaged {
			l.at = end
			return stored, nil
		}
		if err := l.passDamage(d, end); err != nil {
			return false, err
		}
	}
}

// shorter returns the error for a log that ends before what was read of it earlier. Of remote servers, the one that
// has answered may not be the leader any more, and lack the latest records; any others are lost.
func (r *Runner) shorter(ctx context.Context, l *log, end store.Position) error {
	h, err := r.Store.Health(ctx)
	if recent := time.Since(l.touched) < staleTime; end.N < l.at.N && recent && (err != nil || h.Mode == "remote") {
		return fmt.Errorf("%w: the log of conversation %s ends at record %d, and had %d", store.ErrUnavailable, l.id, end.N, l.at.N)
	}
	return &store.Damage{Conversation: l.id, N: end.N + 1, Why: "records are gone that were there before"}
}

// sameRecord reports whether a record was read as it was sent. Its time is exact enough to tell writers apart.
func sameRecord(read, sent store.Record) bool {
	return read.Time.Equal(sent.Time) && read.Turn == sent.Turn && read.Type == sent.Type && bytes.Equal(read.Body, sent.Body)
}

// passDamage notes what is lost, and goes to where the log can be read on: to the end that it had before it was read,
// if nothing up to there can be. What has been appended since may be an input that a worker waits for.
func (l *log) passDamage(d *store.Damage, end store.Position) error {
	again := len(l.lost) > 0 && l.lost[len(l.lost)-1].Next == d.Next
	if d.Next > l.at.N && !again {
		l.lose(*d, time.Time{})
		l.at = store.Position{N: d.Next - 1}
		return nil
	}
	if end.N < d.N {
		return d
	}
	d.Next = end.N + 1
	l.lose(*d, time.Time{})
	l.at = end
	return nil
}

// append adds records about a turn to a conversation as it stands; contents returns what they are, see [encode].
// Where another writer was first, it reads what that was, asks may whether it is still to be done, and tries
// again: no writer waits for another, so one of them always succeeds. There is nothing to do where may returns errKnown.
func (r *Runner) append(ctx context.Context, l *log, turnID string, may func(*log) error, contents func(now time.Time) []any) error {
	err := r.appendWhenAvailable(ctx, nil, l, turnID, may, contents)
	if errors.Is(err, errKnown) {
		return nil
	}
	return err
}

// unavailableDelay is the time until an append is tried again for which the store had no server or no space.
const unavailableDelay = time.Second

// contradictionDelay is the time until an append is tried again that a server has refused for a conflict which the log
// does not show.
const contradictionDelay = 200 * time.Millisecond

// appendWhenAvailable is append. While the store's servers do not answer, or it is full, it tries again, until the end of
// the context named by while: the answer of a model would have to be paid for a second time. nil: it does not.
//
// A server that is not the leader any more may refuse what the leader has stored, and may not have it when it is read
// again. So what was sent for a position is sent again as it was while the log ends there, and is known by that once
// it is read.
func (r *Runner) appendWhenAvailable(ctx, while context.Context, l *log, turnID string, may func(*log) error, contents func(now time.Time) []any) error {
	var next entry
	for {
		if err := may(l); err != nil {
			return err
		}
		if next.at != l.at || next.records == nil {
			var err error
			if next, err = l.encode(turnID, contents); err != nil {
				return err
			}
		}
		end, err := r.Store.Append(ctx, l.id, l.at, next.records...)
		if err == nil {
			l.add(next, end)
			r.recent.see(l)
			return nil
		}
		if errors.Is(err, store.ErrConflict) {
			var stored bool
			if stored, err = r.catchUpWith(ctx, l, next.records); stored {
				r.recent.see(l)
				return nil
			}
			if err == nil && l.at == next.at { // with what, no server shows so far
				err = retry.Sleep(ctx, contradictionDelay)
			}
		}
		passes := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFull)
		if err != nil && (while == nil || !passes || retry.Sleep(while, unavailableDelay) != nil) {
			return err
		}
	}
}

// entry is what is appended at a position.
type entry struct {
	at       store.Position
	records  []store.Record
	contents []any // of the records
}

// encode returns the entry for the end of the log.
func (l *log) encode(turnID string, contents func(time.Time) []any) (entry, error) {
	now := time.Now().UTC()
	e := entry{at: l.at, contents: contents(now)}
	for _, c := range e.contents {
		rec, err := encode(turnID, c, now)
		if err != nil {
			return entry{}, err
		}
		e.records = append(e.records, rec)
	}
	return e, l.addCaption(e.records)
}

// add applies an entry that was appended.
func (l *log) add(e entry, end store.Position) {
	for i, rec := range e.records {
		l.fold(rec, e.contents[i])
	}
	l.at = end
}

// one is the contents of an append of one record.
func one(content any) func(time.Time) []any {
	return func(time.Time) []any { return []any{content} }
}
