package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// isDeletion reports whether a message marks an entry that was deleted or has expired.
func isDeletion(h nats.Header) bool {
	return h.Get(deletedHeader) != "" || h.Get("Nats-Marker-Reason") != ""
}

// Get implements [store.KV].
func (b *backend) Get(ctx context.Context, key string) (store.Entry, error) {
	ctx, done, err := b.begin(ctx, limit.Entry(key, nil))
	if err != nil {
		return store.Entry{}, err
	}
	defer done()
	m, err := b.getFromLeader(ctx, kvStream, getRequest{Last: kvPrefix + key})
	switch {
	case errors.Is(err, errNoMessage), err == nil && isDeletion(m.header):
		return store.Entry{Key: key}, nil
	case err != nil:
		return store.Entry{}, fmt.Errorf("get entry: %w", err)
	}
	return store.Entry{Key: key, Value: m.data, Revision: m.seq}, nil
}

// Put implements [store.KV].
func (b *backend) Put(ctx context.Context, e store.Entry, ttl time.Duration) (store.Entry, error) {
	ctx, done, err := b.begin(ctx, limit.Entry(e.Key, e.Value))
	if err != nil {
		return store.Entry{}, err
	}
	defer done()
	stored, err := b.put(ctx, e, e.Revision, ttl)
	if errors.Is(err, store.ErrConflict) && e.Revision == 0 { // behind a deletion, perhaps
		last, lastErr := b.getFromLeader(ctx, kvStream, getRequest{Last: kvPrefix + e.Key})
		if lastErr == nil && isDeletion(last.header) {
			stored, err = b.put(ctx, e, last.seq, ttl)
		}
	}
	if err != nil {
		return store.Entry{}, fmt.Errorf("put entry: %w", err)
	}
	return stored, nil
}

// put writes an entry over a revision.
func (b *backend) put(ctx context.Context, e store.Entry, revision uint64, ttl time.Duration) (store.Entry, error) {
	m := &nats.Msg{Subject: kvPrefix + e.Key, Header: nats.Header{}, Data: e.Value}
	if len(e.Value) == 0 {
		m.Header.Set(deletedHeader, timestamp(time.Now()))
		ttl = time.Minute
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(revision)}
	if ttl > 0 {
		opts = append(opts, jetstream.WithMsgTTL(limit.TTL(ttl)))
	}
	ack, err := b.publish(ctx, m, opts...)
	switch {
	case err != nil:
		return store.Entry{}, err
	case len(e.Value) == 0:
		return store.Entry{Key: e.Key}, nil
	}
	return store.Entry{Key: e.Key, Value: e.Value, Revision: ack.Sequence}, nil
}
