package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
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

func (b *backend) Get(ctx context.Context, key string) (store.Entry, error) {
	ctx, done, err := b.begin(ctx, limit.Entry(key, nil))
	if err != nil {
		return store.Entry{}, err
	}
	defer done()
	m, err := b.lastMessage(ctx, kvStream, kvPrefix+key)
	switch {
	case errors.Is(err, errNoMessage), err == nil && isDeletion(m.header):
		return store.Entry{Key: key}, nil
	case err != nil:
		return store.Entry{}, fmt.Errorf("get entry: %w", err)
	}
	return store.Entry{Key: key, Value: m.data, Revision: m.seq}, nil
}

func (b *backend) Put(ctx context.Context, e store.Entry, ttl time.Duration) (store.Entry, error) {
	ctx, done, err := b.begin(ctx, limit.Entry(e.Key, e.Value))
	if err != nil {
		return store.Entry{}, err
	}
	defer done()
	stored, err := b.put(ctx, e, e.Revision, ttl)
	if errors.Is(err, store.ErrConflict) && e.Revision == 0 { // behind a deletion, perhaps
		last, lastErr := b.lastMessage(ctx, kvStream, kvPrefix+e.Key)
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
	seq, err := b.publish(ctx, m, opts...)
	switch {
	case err != nil:
		return store.Entry{}, err
	case len(e.Value) == 0:
		seq = 0
	}
	return store.Entry{Key: e.Key, Value: e.Value, Revision: seq}, nil
}

func (b *backend) Watch(ctx context.Context) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		err := b.watch(ctx, func(e store.Entry) bool { return yield(e, nil) })
		if !errors.Is(err, errStopped) {
			yield(store.Entry{}, fmt.Errorf("watch entries: %w", err))
		}
	}
}

// watch yields entries. It returns errStopped if yield does not want more.
func (b *backend) watch(ctx context.Context, yield func(store.Entry) bool) error {
	ctx, done, err := b.begin(ctx, nil)
	if err != nil {
		return err
	}
	defer done()
	consumer, err := b.js.OrderedConsumer(ctx, kvStream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{kvPrefix + ">"}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
	})
	if err != nil {
		return translate(ctx, err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return translate(ctx, err)
	}
	defer messages.Stop()
	seen := map[string]bool{}
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return translate(ctx, err)
		}
		e := store.Entry{Key: strings.TrimPrefix(m.Subject(), kvPrefix)}
		if !isDeletion(m.Headers()) {
			meta, err := m.Metadata()
			if err != nil {
				return translate(ctx, err)
			}
			e.Value, e.Revision = m.Data(), meta.Sequence.Stream
		} else if !seen[e.Key] {
			continue
		}
		if seen[e.Key] = e.Value != nil; !yield(e) {
			return errStopped
		}
	}
}
