package conversation

import (
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// load reads a conversation. It is the caller's own until it is put back into
// the cache; one that has become untrue, by an error, is not.
func (r *Runner) load(ctx context.Context, id string) (*log, error) {
	l := r.cache.take(id)
	if err := r.catchUp(ctx, l); err != nil {
		return nil, err
	}
	return l, l.check()
}

// catchUp reads what has been appended since.
func (r *Runner) catchUp(ctx context.Context, l *log) error {
	records, end, err := store.Load(ctx, r.Store, l.id, l.at.N)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if err := l.fold(rec); err != nil {
			return &store.Damage{Conversation: l.id, N: rec.N, Why: err.Error()}
		}
	}
	l.at = end
	return nil
}

// append adds records to a conversation as it stands. Where another writer was
// first, it reads what that was, asks may whether it is still to be done, and
// tries again: no writer waits for another, so one of them always succeeds.
func (r *Runner) append(ctx context.Context, l *log, may func(*log) error, records func(now time.Time) ([]store.Record, error)) error {
	for {
		if err := may(l); err != nil {
			return err
		}
		now := time.Now().UTC()
		added, err := records(now)
		if err == nil {
			err = l.addCaption(added)
		}
		if err != nil {
			return err
		}
		end, err := r.Store.Append(ctx, l.id, l.at, added...)
		switch {
		case errors.Is(err, store.ErrConflict):
			if err := r.catchUp(ctx, l); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		for i, rec := range added {
			rec.N = l.at.N + 1 + int64(i)
			if err := l.fold(rec); err != nil {
				return err
			}
		}
		l.at = end
		r.recent.see(l)
		return nil
	}
}
