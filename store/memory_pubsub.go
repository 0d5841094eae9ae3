package store

import (
	"context"
	"slices"

	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// Publish implements [PubSub].
func (m *memory) Publish(ctx context.Context, topic string, data []byte) error {
	if err := m.lock(ctx, limit.Message(topic, data)); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.topics.Send(topic, Message{Data: slices.Clone(data)})
	return nil
}

// Subscribe implements [PubSub].
func (m *memory) Subscribe(ctx context.Context, topic string) (<-chan Message, error) {
	if err := m.lock(ctx, limit.ID("topic", topic)); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return m.topics.Subscribe(ctx, topic, func(msg Message) Message { msg.Gap = true; return msg }), nil
}
