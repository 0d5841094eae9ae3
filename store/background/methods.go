package background

import (
	"context"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// Append appends to a log, as [store.Log] says.
func (s *Store) Append(ctx context.Context, conversation string, at store.Position, records ...store.Record) (store.Position, error) {
	o, err := s.use(ctx)
	if err != nil {
		return store.Position{}, err
	}
	return o.Append(ctx, conversation, at, records...)
}

// Read reads a log, as [store.Log] says.
func (s *Store) Read(ctx context.Context, conversation string, after int64) iter.Seq2[store.Record, error] {
	o, err := s.read(ctx)
	if err != nil {
		return failed[store.Record](err)
	}
	return o.Read(ctx, conversation, after)
}

// failed is a sequence that fails at once.
func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// End returns the end of a log, as [store.Log] says.
func (s *Store) End(ctx context.Context, conversation string) (store.Position, error) {
	o, err := s.read(ctx)
	if err != nil {
		return store.Position{}, err
	}
	return o.End(ctx, conversation)
}

// Conversations lists the logs, as [store.Log] says.
func (s *Store) Conversations(ctx context.Context, before string) iter.Seq2[store.Head, error] {
	o, err := s.read(ctx)
	if err != nil {
		return failed[store.Head](err)
	}
	return o.Conversations(ctx, before)
}

// Delete deletes a log, as [store.Log] says.
func (s *Store) Delete(ctx context.Context, conversation string) error {
	o, err := s.use(ctx)
	if err != nil {
		return err
	}
	return o.Delete(ctx, conversation)
}

// Enqueue adds a job, as [store.Queue] says.
func (s *Store) Enqueue(ctx context.Context, j store.Job) error {
	o, err := s.use(ctx)
	if err != nil {
		return err
	}
	return o.Enqueue(ctx, j)
}

// Schedule schedules a job, as [store.Queue] says.
func (s *Store) Schedule(ctx context.Context, j store.Job, at time.Time) error {
	o, err := s.use(ctx)
	if err != nil {
		return err
	}
	return o.Schedule(ctx, j, at)
}

// Unschedule removes a scheduled job, as [store.Queue] says.
func (s *Store) Unschedule(ctx context.Context, turn string) error {
	o, err := s.use(ctx)
	if err != nil {
		return err
	}
	return o.Unschedule(ctx, turn)
}

// Take leases a job, as [store.Queue] says.
func (s *Store) Take(ctx context.Context) (store.Lease, error) {
	o, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	return o.Take(ctx)
}

// Publish sends data to subscribers, as [store.PubSub] says.
func (s *Store) Publish(ctx context.Context, topic string, data []byte) error {
	o, err := s.use(ctx)
	if err != nil {
		return err
	}
	return o.Publish(ctx, topic, data)
}

// Subscribe subscribes to a topic, as [store.PubSub] says.
func (s *Store) Subscribe(ctx context.Context, topic string) (<-chan store.Message, error) {
	o, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	return o.Subscribe(ctx, topic)
}

// Get returns an entry, as [store.KV] says.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	o, err := s.read(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	return o.Get(ctx, key)
}

// Put writes an entry, as [store.KV] says.
func (s *Store) Put(ctx context.Context, e store.Entry, ttl time.Duration) (store.Entry, error) {
	o, err := s.use(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	return o.Put(ctx, e, ttl)
}

// Watch follows the entries, as [store.KV] says.
func (s *Store) Watch(ctx context.Context, below string) iter.Seq2[store.Entry, error] {
	o, err := s.use(ctx)
	if err != nil {
		return failed[store.Entry](err)
	}
	return o.Watch(ctx, below)
}

// Health returns the store's state, or at once why it is not open. That of an idle store is what its
// reservation knows.
func (s *Store) Health(ctx context.Context) (store.Health, error) {
	if h, idle, err := s.idleHealth(ctx); idle {
		return h, err
	}
	o, err := s.current()
	if err != nil {
		return store.Health{}, err
	}
	return o.Health(ctx)
}
