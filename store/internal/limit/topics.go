package limit

import (
	"context"
	"sync"
)

// Topics delivers messages to the subscribers in this process. The zero value is ready to use.
type Topics[M any] struct {
	mu     sync.Mutex
	closed bool
	subs   map[string]map[*Buffer[M]]bool
}

// Subscribe returns the messages on a topic, until ctx ends or the topics are closed. A message that follows dropped
// ones is the result of markGap.
func (t *Topics[M]) Subscribe(ctx context.Context, topic string, markGap func(M) M) <-chan M {
	b := NewBuffer(markGap)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		close(b.C)
		return b.C
	}
	if t.subs == nil {
		t.subs = map[string]map[*Buffer[M]]bool{}
	}
	if t.subs[topic] == nil {
		t.subs[topic] = map[*Buffer[M]]bool{}
	}
	t.subs[topic][b] = true
	context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.unsubscribe(topic, b)
	})
	return b.C
}

// Send sends a message to all subscribers of a topic.
func (t *Topics[M]) Send(topic string, m M) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for b := range t.subs[topic] {
		b.Send(m)
	}
}

// Close ends all subscriptions.
func (t *Topics[M]) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for topic, subs := range t.subs {
		for b := range subs {
			t.unsubscribe(topic, b)
		}
	}
}

// unsubscribe ends a subscription, once.
func (t *Topics[M]) unsubscribe(topic string, b *Buffer[M]) {
	if !t.subs[topic][b] {
		return
	}
	close(b.C)
	delete(t.subs[topic], b)
	if len(t.subs[topic]) == 0 {
		delete(t.subs, topic)
	}
}
