package store

import (
	"context"
	"slices"

	"github.com/ridethrough/ridethrough/store/internal/limit"
)

type subscription = limit.Buffer[Message]

// Publish implements [PubSub].
func (m *memory) Publish(ctx context.Context, topic string, data []byte) error {
	if err := m.lock(ctx, limit.Message(topic, data)); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.send(topic, Message{Data: slices.Clone(data)})
	return nil
}

// send sends a message to all subscribers of a topic.
func (m *memory) send(topic string, msg Message) {
	for s := range m.subs[topic] {
		s.Send(msg)
	}
}

// Subscribe implements [PubSub].
func (m *memory) Subscribe(ctx context.Context, topic string) (<-chan Message, error) {
	if err := m.lock(ctx, limit.ID("topic", topic)); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	s := limit.NewBuffer(func(msg Message) Message { msg.Gap = true; return msg })
	if m.subs[topic] == nil {
		m.subs[topic] = map[*subscription]bool{}
	}
	m.subs[topic][s] = true
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unsubscribe(topic, s)
	})
	return s.C, nil
}

// unsubscribe ends a subscription, once.
func (m *memory) unsubscribe(topic string, s *subscription) {
	if !m.subs[topic][s] {
		return
	}
	close(s.C)
	delete(m.subs[topic], s)
	if len(m.subs[topic]) == 0 {
		delete(m.subs, topic)
	}
}
