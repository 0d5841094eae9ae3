package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// markGaps has every subscription send a gap: it may have missed messages, even its last.
func (b *backend) markGaps() {
	for one := range b.subscriptions.Range {
		signal(one.(*subscription).reconnected)
	}
}

// Publish implements [store.PubSub].
func (b *backend) Publish(ctx context.Context, topic string, data []byte) error {
	if err := b.check(ctx, limit.Message(topic, data)); err != nil {
		return err
	}
	return b.notify(ctx, "publish", subject(publishPrefix, topic), data)
}

// Subscribe implements [store.PubSub].
func (b *backend) Subscribe(ctx context.Context, topic string) (<-chan store.Message, error) {
	ctx, done, err := b.begin(ctx, limit.ID("topic", topic))
	if err != nil {
		return nil, err
	}
	s, err := b.subscribe(ctx, topic)
	if err != nil {
		done()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	b.subscriptions.Store(s, nil)
	b.goroutines.Go(func() {
		defer done()
		defer b.subscriptions.Delete(s)
		s.forward(ctx)
	})
	return s.out.C, nil
}

// subscribe returns a subscription that the servers have received.
func (b *backend) subscribe(ctx context.Context, topic string) (*subscription, error) {
	s := &subscription{
		out: limit.NewBuffer(func(m store.Message) store.Message { m.Gap = true; return m }),
		in:  make(chan *nats.Msg, 4*limit.Backlog), reconnected: make(chan struct{}, 1),
	}
	for _, prefix := range []string{publishPrefix, republishPrefix} {
		sub, err := b.nc.ChanSubscribe(subject(prefix, topic), s.in)
		if err != nil {
			s.unsubscribe()
			return nil, translate(ctx, err)
		}
		s.subs = append(s.subs, sub)
	}
	if err := b.attempt(ctx, b.nc.FlushWithContext); err != nil {
		s.unsubscribe()
		return nil, err
	}
	return s, nil
}

// subscription forwards messages from the servers to a subscriber.
type subscription struct {
	out         *limit.Buffer[store.Message]
	in          chan *nats.Msg
	reconnected chan struct{} // has an element after a reconnection
	subs        []*nats.Subscription
	dropped     int // by the NATS client, in all
	parts       joiner
	last        int64 // number of the last record
}

// forward forwards messages until ctx ends.
func (s *subscription) forward(ctx context.Context) {
	defer close(s.out.C)
	defer s.unsubscribe()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reconnected:
			s.out.Send(store.Message{Gap: true})
		case received := <-s.in:
			m, ok := s.decode(received)
			if s.lost() {
				m.Gap = true
			}
			if ok || m.Gap {
				s.out.Send(m)
			}
		}
	}
}

func (s *subscription) unsubscribe() {
	for _, sub := range s.subs {
		_ = sub.Unsubscribe()
	}
}

// decode decodes a message; false: it is one of several parts, or was deleted.
func (s *subscription) decode(m *nats.Msg) (store.Message, bool) {
	if !strings.HasPrefix(m.Subject, republishPrefix) {
		return store.Message{Data: m.Data}, true
	}
	data, complete := s.parts.add(m.Header, m.Data)
	if !complete {
		return store.Message{}, false
	}
	var e logEntry
	if err := json.Unmarshal(data, &e); err != nil || len(e.Records) == 0 {
		return store.Message{Gap: true}, false // the log was deleted, or is damaged
	}
	gap := s.last > 0 && e.N != s.last+1
	s.last = e.N + int64(len(e.Records)) - 1
	return store.Message{Records: e.Records, Gap: gap}, true
}

// lost reports whether messages were lost since the last call.
func (s *subscription) lost() bool {
	dropped := 0
	for _, sub := range s.subs {
		n, _ := sub.Dropped()
		dropped += n
	}
	more := dropped > s.dropped
	s.dropped = dropped
	return more
}
