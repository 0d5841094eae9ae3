package conversation

import (
	"context"
	"errors"
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
func (r *Runner) catchUp(ctx context.Context, l *log) (err error) {
	defer func() { l.untrue = l.untrue || err != nil }()
	for {
		records, end, err := store.Load(ctx, r.Store, l.id, l.at.N)
		d, damaged := errors.AsType[*store.Damage](err)
		switch {
		case err != nil && !damaged:
			return err
		case err == nil && (end.N < l.at.N || end.N == l.at.N && l.at.Hash != "" && end.Hash != l.at.Hash): // the store has lost some
			return &store.Damage{Conversation: l.id, N: end.N + 1, Why: "records are gone that were there before"}
		}
		for _, rec := range records {
			if err := l.apply(rec); err != nil {
				return &store.Damage{Conversation: l.id, N: rec.N, Why: err.Error()}
			}
			l.at = store.Position{N: rec.N}
		}
		if !damaged {
			l.at = end
			return nil
		}
		if err := l.passDamage(d, end); err != nil {
			return err
		}
	}
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
// again: no writer waits for another, so one of them always succeeds.
func (r *Runner) append(ctx context.Context, l *log, turnID string, may func(*log) error, contents func(now time.Time) []any) error {
	return r.appendBy(ctx, r.Store.Append, l, turnID, may, contents)
}

// appendFunc appends as store.Log does.
type appendFunc func(context.Context, string, store.Position, ...store.Record) (store.Position, error)

// appendBy is append by means of a function.
func (r *Runner) appendBy(ctx context.Context, put appendFunc, l *log, turnID string, may func(*log) error, contents func(now time.Time) []any) error {
	for {
		if err := may(l); err != nil {
			return err
		}
		now := time.Now().UTC()
		added := contents(now)
		records, err := l.encode(turnID, added, now)
		if err != nil {
			return err
		}
		end, err := put(ctx, l.id, l.at, records...)
		switch {
		case errors.Is(err, store.ErrConflict):
			if err := r.catchUp(ctx, l); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		for i, rec := range records {
			l.fold(rec, added[i])
		}
		l.at = end
		r.recent.see(l)
		return nil
	}
}

// unavailableDelay is the time until an append is tried again that the store's servers did not answer.
const unavailableDelay = time.Second

// appendWhenAvailable returns a function that appends again while the store's servers do not answer, until ctx
// ends: the answer of a model would have to be paid for a second time. The store appends the same records at
// the same position once.
func (r *Runner) appendWhenAvailable(ctx context.Context) appendFunc {
	return func(each context.Context, id string, at store.Position, records ...store.Record) (store.Position, error) {
		for {
			end, err := r.Store.Append(each, id, at, records...)
			if !errors.Is(err, store.ErrUnavailable) || retry.Sleep(ctx, unavailableDelay) != nil {
				return end, err
			}
		}
	}
}

// encode returns the records of contents.
func (l *log) encode(turnID string, contents []any, now time.Time) ([]store.Record, error) {
	records := make([]store.Record, len(contents))
	for i, c := range contents {
		var err error
		if records[i], err = encode(turnID, c, now); err != nil {
			return nil, err
		}
	}
	return records, l.addCaption(records)
}

// one is the contents of an append of one record.
func one(content any) func(time.Time) []any {
	return func(time.Time) []any { return []any{content} }
}
