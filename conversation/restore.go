package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// chunk is how much is restored with one append, in bytes: lists read the first
// and the last one of each conversation.
const chunk = 64 << 10

// Restore puts a conversation into the store whose records are from another one, all of them from the first
// on, and has what was in progress there continue here: a turn that waits does so until the same instant, with
// what it has waited already. Where it was being worked on, that worker is taken for dead; so stop all
// runners of the other store before its records are read.
//
// A conversation that is there already is compared. What is missing is added, so that a Restore that broke
// off can be done again; added is the number of those records, 0 where the conversation has everything, and
// maybe more. One that is another one is ErrExists, and one that was deleted store.ErrDeleted: nothing is
// written.
func (r *Runner) Restore(ctx context.Context, conversation string, records []store.Record) (added int, err error) {
	given, err := unfold(conversation, records)
	if err != nil {
		return 0, err
	}
	there, end, err := store.Load(ctx, r.Store, conversation, 0)
	if err != nil {
		return 0, err
	}
	missing, err := beyond(there, records)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", conversation, err)
	}
	added = len(missing)
	if added > 0 && given.now.held {
		rec, err := encode(given.now.id, release{}, time.Now().UTC())
		if err != nil {
			return 0, err
		}
		missing = append(missing[:added:added], rec)
		if err := given.addCaption(missing); err != nil {
			return 0, err
		}
	}
	for len(missing) > 0 {
		n := piece(missing, end.N == 0, given.now.held)
		if end, err = r.Store.Append(ctx, conversation, end, missing[:n]...); err != nil {
			return 0, err
		}
		missing = missing[n:]
	}
	r.recent.stale()
	return added, r.enqueueRestored(ctx, conversation)
}

// unfold reads records that are said to be the whole log of a conversation.
func unfold(conversation string, records []store.Record) (*log, error) {
	l := &log{id: conversation}
	if len(records) == 0 || records[0].Type != created {
		return nil, fmt.Errorf("%w: %s: no conversation begins like that", store.ErrInvalid, conversation)
	}
	for i, r := range records {
		if r.N != int64(i+1) {
			return nil, fmt.Errorf("%w: %s: record %d stands in the place of %d", store.ErrInvalid, conversation, r.N, i+1)
		}
		if err := l.apply(r); err != nil {
			return nil, fmt.Errorf("%w: %s: record %d: %w", store.ErrInvalid, conversation, r.N, err)
		}
	}
	return l, nil
}

// beyond returns the records that are missing where some are there already.
func beyond(there, records []store.Record) ([]store.Record, error) {
	n := min(len(there), len(records))
	for i := range n {
		if !same(there[i], records[i]) {
			return nil, fmt.Errorf("%w: record %d is another one", ErrExists, i+1)
		}
	}
	return records[n:], nil
}

// same reports whether two records say the same, in whatever form of JSON.
func same(a, b store.Record) bool {
	if a.N != b.N || a.Turn != b.Turn || a.Type != b.Type || !a.Time.Equal(b.Time) {
		return false
	}
	return bytes.Equal(a.Body, b.Body) || bytes.Equal(canonical(a.Body), canonical(b.Body))
}

// canonical returns JSON in one form, or nil if it is not JSON.
func canonical(text json.RawMessage) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	out, _ := json.Marshal(v) // what JSON can say can be said again
	return out
}

// piece tells how many of the records that are missing go into the next append. The first record of a log has
// one of its own. Where the last one says that the worker is dead, it comes with the one before it: who holds
// the turn after that is a worker of this store.
func piece(missing []store.Record, first, dead bool) int {
	if first {
		return 1
	}
	n, size := 0, 0
	for ; n < len(missing) && (n == 0 || size+len(missing[n].Body) <= chunk); n++ {
		size += len(missing[n].Body)
	}
	if dead && n == len(missing)-1 {
		n++
	}
	return n
}

// enqueueRestored enqueues the job of the turn that is in progress or comes next. One that a worker of this store has, has one.
func (r *Runner) enqueueRestored(ctx context.Context, conversation string) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	switch {
	case l.idle():
		return r.enqueueNext(ctx, l)
	case l.now.held:
		return nil
	}
	if w := l.now.waits; w != nil {
		r.parked.add(w.Name.Provider, conversation, l.now.id)
	}
	t := newJob(l, l.now.id, payload{})
	if due := l.due(); !due.IsZero() && !l.now.abort {
		return r.Store.Schedule(ctx, t, due)
	}
	return r.enqueueAccepted(ctx, t)
}
