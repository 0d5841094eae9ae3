package background

import (
	"context"
	"iter"
	"os"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// do calls an operation without a result once the store is open.
func (s *Store) do(ctx context.Context, operation func(store.Store) error) error {
	o, err := s.use(ctx)
	if err != nil {
		return err
	}
	return operation(o)
}

// call calls an operation with a result once the store is open.
func call[T any](ctx context.Context, s *Store, operation func(store.Store) (T, error)) (result T, err error) {
	err = s.do(ctx, func(o store.Store) (err error) { result, err = operation(o); return err })
	return result, err
}

// list returns a sequence of the store once it is open. It fails at once if it is not.
func list[T any](ctx context.Context, s *Store, sequence func(store.Store) iter.Seq2[T, error]) iter.Seq2[T, error] {
	o, err := s.use(ctx)
	if err != nil {
		return func(yield func(T, error) bool) { yield(*new(T), err) }
	}
	return sequence(o)
}

// Append appends to a log, as [store.Log] says.
func (s *Store) Append(ctx context.Context, conversation string, at store.Position, records ...store.Record) (store.Position, error) {
	return call(ctx, s, func(o store.Store) (store.Position, error) { return o.Append(ctx, conversation, at, records...) })
}

// Read reads a log, as [store.Log] says.
func (s *Store) Read(ctx context.Context, conversation string, after int64) iter.Seq2[store.Record, error] {
	return list(ctx, s, func(o store.Store) iter.Seq2[store.Record, error] { return o.Read(ctx, conversation, after) })
}

// End returns the end of a log, as [store.Log] says.
func (s *Store) End(ctx context.Context, conversation string) (store.Position, error) {
	return call(ctx, s, func(o store.Store) (store.Position, error) { return o.End(ctx, conversation) })
}

// Conversations lists the logs, as [store.Log] says.
func (s *Store) Conversations(ctx context.Context, before string) iter.Seq2[store.Head, error] {
	return list(ctx, s, func(o store.Store) iter.Seq2[store.Head, error] { return o.Conversations(ctx, before) })
}

// Delete deletes a log, as [store.Log] says.
func (s *Store) Delete(ctx context.Context, conversation string) error {
	return s.do(ctx, func(o store.Store) error { return o.Delete(ctx, conversation) })
}

// Enqueue adds a job, as [store.Queue] says.
func (s *Store) Enqueue(ctx context.Context, j store.Job) error {
	return s.do(ctx, func(o store.Store) error { return o.Enqueue(ctx, j) })
}

// Schedule schedules a job, as [store.Queue] says.
func (s *Store) Schedule(ctx context.Context, j store.Job, at time.Time) error {
	return s.do(ctx, func(o store.Store) error { return o.Schedule(ctx, j, at) })
}

// Unschedule removes a scheduled job, as [store.Queue] says.
func (s *Store) Unschedule(ctx context.Context, turn string) error {
	return s.do(ctx, func(o store.Store) error { return o.Unschedule(ctx, turn) })
}

// Take leases a job, as [store.Queue] says.
func (s *Store) Take(ctx context.Context) (store.Lease, error) {
	return call(ctx, s, func(o store.Store) (store.Lease, error) { return o.Take(ctx) })
}

// Publish sends data to subscribers, as [store.PubSub] says.
func (s *Store) Publish(ctx context.Context, topic string, data []byte) error {
	return s.do(ctx, func(o store.Store) error { return o.Publish(ctx, topic, data) })
}

// Subscribe subscribes to a topic, as [store.PubSub] says.
func (s *Store) Subscribe(ctx context.Context, topic string) (<-chan store.Message, error) {
	return call(ctx, s, func(o store.Store) (<-chan store.Message, error) { return o.Subscribe(ctx, topic) })
}

// Get returns an entry, as [store.KV] says.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	return call(ctx, s, func(o store.Store) (store.Entry, error) { return o.Get(ctx, key) })
}

// Put writes an entry, as [store.KV] says.
func (s *Store) Put(ctx context.Context, e store.Entry, ttl time.Duration) (store.Entry, error) {
	return call(ctx, s, func(o store.Store) (store.Entry, error) { return o.Put(ctx, e, ttl) })
}

// Watch follows the entries, as [store.KV] says.
func (s *Store) Watch(ctx context.Context, below string) iter.Seq2[store.Entry, error] {
	return list(ctx, s, func(o store.Store) iter.Seq2[store.Entry, error] { return o.Watch(ctx, below) })
}

// Snapshot copies the store's file, as [store.Lifecycle] says.
func (s *Store) Snapshot(ctx context.Context, use func(*os.File) error) error {
	return s.do(ctx, func(o store.Store) error { return o.Snapshot(ctx, use) })
}

// Health returns the store's state, or at once why it is not open.
func (s *Store) Health(ctx context.Context) (store.Health, error) {
	o, err := s.current()
	if err != nil {
		return store.Health{}, err
	}
	return o.Health(ctx)
}
