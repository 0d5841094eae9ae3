package bolt

import (
	"bytes"
	"context"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// Publish implements [store.PubSub].
func (s *boltStore) Publish(ctx context.Context, topic string, data []byte) error {
	if err := s.begin(ctx, limit.Message(topic, data)); err != nil {
		return err
	}
	s.topics.Send(topic, store.Message{Data: bytes.Clone(data)})
	return nil
}

// Subscribe implements [store.PubSub].
func (s *boltStore) Subscribe(ctx context.Context, topic string) (<-chan store.Message, error) {
	if err := s.begin(ctx, limit.ID("topic", topic)); err != nil {
		return nil, err
	}
	return s.topics.Subscribe(ctx, topic, func(m store.Message) store.Message { m.Gap = true; return m }), nil
}
