package nats

import (
	"context"
	"crypto/rand"
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
	stored, err := b.put(ctx, e, ttl)
	return stored, annotate("put entry", err)
}

// put writes an entry over its revision. Its message has an id: a write that is sent again since its answer was lost ends
// with a conflict with itself. While the servers show nothing that it conflicts with, it is sent again, as an append is.
func (b *backend) put(ctx context.Context, e store.Entry, ttl time.Duration) (store.Entry, error) {
	again, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	id := rand.Text()
	stored := func(revision uint64) (store.Entry, error) {
		if len(e.Value) == 0 {
			return store.Entry{Key: e.Key}, nil
		}
		return store.Entry{Key: e.Key, Value: e.Value, Revision: revision}, nil
	}
	for revision := e.Revision; ; {
		ack, err := b.putOnce(ctx, e, revision, ttl, id)
		if err == nil {
			return stored(ack.Sequence)
		}
		if !errors.Is(err, store.ErrConflict) {
			return store.Entry{}, err
		}
		last, lastErr := b.getFromLeader(ctx, kvStream, getRequest{Last: kvPrefix + e.Key})
		switch none := errors.Is(lastErr, errNoMessage); {
		case lastErr != nil && !none:
			return store.Entry{}, lastErr // what it conflicts with is not known
		case last.header.Get(putHeader) == id:
			return stored(last.seq)
		case last.seq > revision && e.Revision == 0 && isDeletion(last.header):
			revision = last.seq
		case last.seq > revision, none && revision > 0, !sleep(again, retryDelay):
			return store.Entry{}, err
		}
	}
}

const putHeader = "Ridethrough-Put" // id of a put

// putOnce writes an entry over a revision.
func (b *backend) putOnce(ctx context.Context, e store.Entry, revision uint64, ttl time.Duration, id string) (*jetstream.PubAck, error) {
	m := &nats.Msg{Subject: kvPrefix + e.Key, Header: nats.Header{putHeader: {id}}, Data: e.Value}
	if len(e.Value) == 0 {
		m.Header.Set(deletedHeader, timestamp(time.Now()))
		ttl = time.Minute
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(revision)}
	if ttl > 0 {
		opts = append(opts, jetstream.WithMsgTTL(limit.TTL(ttl)))
	}
	return b.publish(ctx, m, opts...)
}
