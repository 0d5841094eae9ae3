package store

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// factSubject is where a fact has its place: there are too few to be split.
func factSubject(key string) string { return factSub + key }

// gone tells whether a message says that a fact is no more.
func gone(h nats.Header) bool {
	return h.Get(deletedHeader) != "" || h.Get("Nats-Marker-Reason") != ""
}

func (s *store) Get(ctx context.Context, key string) (Entry, error) {
	if err := checkFact(Entry{Key: key}); err != nil {
		return Entry{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer leave()
	m, err := s.last(ctx, facts, factSubject(key))
	switch {
	case errors.Is(err, errNone), err == nil && gone(m.header):
		return Entry{Key: key}, nil
	case err != nil:
		return Entry{}, err
	}
	return Entry{Key: key, Value: m.data, Version: m.seq}, nil
}

func (s *store) Put(ctx context.Context, f Entry, life time.Duration) (Entry, error) {
	if err := checkFact(f); err != nil {
		return Entry{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer leave()
	put, err := s.put(ctx, f, f.Version, life)
	if !errors.Is(err, ErrConflict) || f.Version != 0 {
		return put, err
	}
	last, lastErr := s.last(ctx, facts, factSubject(f.Key))
	if lastErr != nil || !gone(last.header) {
		return put, err
	}
	return s.put(ctx, f, last.seq, life)
}

// put writes a fact in the place of a version.
func (s *store) put(ctx context.Context, f Entry, version uint64, life time.Duration) (Entry, error) {
	m := &nats.Msg{Subject: factSubject(f.Key), Header: nats.Header{}, Data: f.Value}
	if len(f.Value) == 0 {
		m.Header.Set(deletedHeader, instant(time.Now()))
		life = time.Minute
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(version)}
	if life > 0 {
		opts = append(opts, jetstream.WithMsgTTL(wholeSeconds(life)))
	}
	seq, err := s.publish(ctx, m, opts...)
	switch {
	case err != nil:
		return Entry{}, err
	case len(f.Value) == 0:
		seq = 0
	}
	return Entry{Key: f.Key, Value: f.Value, Version: seq}, nil
}

func (s *store) Watch(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := s.watch(ctx, func(f Entry) bool { return yield(f, nil) })
		if !errors.Is(err, errEnough) {
			yield(Entry{}, err)
		}
	}
}

// watch gives facts until somebody has enough.
func (s *store) watch(ctx context.Context, yield func(Entry) bool) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	all, err := s.js.OrderedConsumer(ctx, facts, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{factSub + ">"}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
	})
	if err != nil {
		return explain(ctx, err)
	}
	messages, err := all.Messages()
	if err != nil {
		return explain(ctx, err)
	}
	defer messages.Stop()
	seen := map[string]bool{}
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return explain(ctx, err)
		}
		f := Entry{Key: strings.TrimPrefix(m.Subject(), factSub)}
		if !gone(m.Headers()) {
			meta, err := m.Metadata()
			if err != nil {
				return explain(ctx, err)
			}
			f.Value, f.Version = m.Data(), meta.Sequence.Stream
		} else if !seen[f.Key] {
			continue
		}
		if seen[f.Key] = f.Value != nil; !yield(f) {
			return errEnough
		}
	}
}
