package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

const (
	heartbeat  = 5 * time.Second // of the servers, while they have no entry to send
	watchQueue = 1024            // entries that a slow caller of Watch may be behind; then the watch begins anew
)

// Watch implements [store.KV].
func (b *backend) Watch(ctx context.Context, below string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		err := b.watch(ctx, below, func(e store.Entry) bool { return yield(e, nil) })
		if !errors.Is(err, errStopped) {
			yield(store.Entry{}, annotate("watch entries", err))
		}
	}
}

// watch yields entries until ctx ends, through restarts of the servers. It returns errStopped if yield does
// not want more. The library's ordered consumer would do, but repeats its own creation without regard to ctx.
func (b *backend) watch(ctx context.Context, below string, yield func(store.Entry) bool) error {
	ctx, done, err := b.begin(ctx, limit.Below(below))
	if err != nil {
		return err
	}
	defer done()
	w := watch{b: b, subjects: kvPrefix + ">", yield: yield, known: map[string]bool{}}
	if below != "" {
		w.subjects = kvPrefix + below + ".>"
	}
	for {
		err := b.link.while(ctx, w.follow)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, errInterrupted):
			signal(b.streams.recheck)
		case isDisconnected(err), errors.Is(translate(ctx, err), store.ErrUnavailable):
		default:
			return translate(ctx, err)
		}
		sleep(ctx, retryDelay)
	}
}

// errInterrupted reports that entries were missed.
var errInterrupted = errors.New("the watch was interrupted")

// watch follows the entries for one caller of Watch.
type watch struct {
	b        *backend
	subjects string // of the entries
	yield    func(store.Entry) bool
	known    map[string]bool // keys whose value the caller has
}

// follow yields the entries as they are, and their changes, until it is interrupted.
func (w *watch) follow(ctx context.Context) error {
	inbox, in := w.b.nc.NewInbox(), make(chan *nats.Msg, watchQueue)
	sub, err := w.b.nc.ChanSubscribe(inbox, in)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	consumer, err := w.b.js.CreatePushConsumer(ctx, kvStream, jetstream.ConsumerConfig{
		DeliverSubject: inbox, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: w.subjects,
		AckPolicy: jetstream.AckNonePolicy, IdleHeartbeat: heartbeat, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return err
	}
	f := following{watch: w, stale: maps.Clone(w.known)}
	if consumer.CachedInfo().NumPending == 0 {
		err = f.dropStale()
	}
	for err == nil {
		var m *nats.Msg
		if m, err = receive(ctx, in, 2*heartbeat+heartbeat/2, errInterrupted); err == nil {
			err = f.take(m)
		}
	}
	return err
}

// following is the state of one consumer. It first has the entries as they are.
type following struct {
	*watch
	received uint64          // messages
	stale    map[string]bool // known keys that it has not had yet
}

// take yields the entry in a message.
func (f *following) take(m *nats.Msg) error {
	if m.Header.Get("Status") != "" {
		return f.checkHeartbeat(m)
	}
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if f.received++; meta.Sequence.Consumer != f.received {
		return fmt.Errorf("%w: message %d follows %d", errInterrupted, meta.Sequence.Consumer, f.received-1)
	}
	f.b.streams.raise(kvStream, meta.Sequence.Stream)
	e := store.Entry{Key: strings.TrimPrefix(m.Subject, kvPrefix)}
	if !isDeletion(m.Header) {
		e.Value, e.Revision = m.Data, meta.Sequence.Stream
	}
	delete(f.stale, e.Key)
	if err := f.pass(e); err != nil || meta.NumPending > 0 {
		return err
	}
	return f.dropStale()
}

// dropStale yields the deletion of the keys that are gone.
func (f *following) dropStale() error {
	for key := range f.stale {
		delete(f.stale, key)
		if err := f.pass(store.Entry{Key: key}); err != nil {
			return err
		}
	}
	return nil
}

// pass yields an entry, unless it is the deletion of one that the caller does not know.
func (f *following) pass(e store.Entry) error {
	if e.Value == nil && !f.known[e.Key] {
		return nil
	}
	if f.known[e.Key] = true; e.Value == nil {
		delete(f.known, e.Key)
	}
	if !f.yield(e) {
		return errStopped
	}
	return nil
}

// checkHeartbeat returns an error if messages before a heartbeat are missing.
func (f *following) checkHeartbeat(m *nats.Msg) error {
	if m.Header.Get("Status") != "100" {
		return fmt.Errorf("%w: %w", errInterrupted, statusError(m))
	}
	sent, err := strconv.ParseUint(m.Header.Get("Nats-Last-Consumer"), 10, 64)
	if err == nil && sent != f.received {
		return fmt.Errorf("%w: %d messages sent, %d received", errInterrupted, sent, f.received)
	}
	return nil
}
