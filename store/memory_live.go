package store

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// earful is how much a listener may be behind before it loses the oldest.
const earful = 256

// ear is one listener. Whoever owns it makes sure that only one goroutine at a
// time calls hear and stop.
type ear struct {
	heard chan Message
	lost  bool
}

func newEar() *ear { return &ear{heard: make(chan Message, earful)} }

// hear gives the listener something, and takes the oldest away if it has to.
func (e *ear) hear(h Message) {
	for {
		h.Gap = h.Gap || e.lost
		select {
		case e.heard <- h:
			e.lost = false
			return
		default:
		}
		select {
		case <-e.heard:
			e.lost = true
		default:
		}
	}
}

func (m *memory) Publish(ctx context.Context, topic string, data []byte) error {
	if err := checkPublish(topic, data); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.tell(topic, Message{Data: slices.Clone(data)})
	return nil
}

// checkPublish wants what fits into a message.
func checkPublish(topic string, data []byte) error {
	if len(data) > largestBody {
		return fmt.Errorf("%w: %d bytes to publish", ErrTooLarge, len(data))
	}
	return checkID("topic", topic)
}

// tell gives something to all who listen.
func (m *memory) tell(topic string, h Message) {
	for e := range m.ears[topic] {
		e.hear(h)
	}
}

func (m *memory) Subscribe(ctx context.Context, topic string) (<-chan Message, error) {
	if err := checkID("topic", topic); err != nil {
		return nil, err
	}
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	e := newEar()
	if m.ears[topic] == nil {
		m.ears[topic] = map[*ear]bool{}
	}
	m.ears[topic][e] = true
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.deafen(topic, e)
	})
	return e.heard, nil
}

// deafen ends a listener.
func (m *memory) deafen(topic string, e *ear) {
	if !m.ears[topic][e] {
		return
	}
	close(e.heard)
	delete(m.ears[topic], e)
	if len(m.ears[topic]) == 0 {
		delete(m.ears, topic)
	}
}

// hush ends all listeners and stops the facts from ending.
func (m *memory) hush() {
	for topic, ears := range m.ears {
		for e := range ears {
			m.deafen(topic, e)
		}
	}
	for _, f := range m.facts {
		f.stop()
	}
}

// memoryFact is a fact and when it ends.
type memoryFact struct {
	Entry
	end *time.Timer
}

func (f *memoryFact) stop() {
	if f != nil && f.end != nil {
		f.end.Stop()
	}
}

func (m *memory) Get(ctx context.Context, key string) (Entry, error) {
	if err := checkFact(Entry{Key: key}); err != nil {
		return Entry{}, err
	}
	if err := m.enter(ctx); err != nil {
		return Entry{}, err
	}
	defer m.mu.Unlock()
	if f := m.facts[key]; f != nil {
		return f.Entry, nil
	}
	return Entry{Key: key}, nil
}

// checkFact wants what fits into the store.
func checkFact(f Entry) error {
	if len(f.Value) > largestFact {
		return fmt.Errorf("%w: a fact of %d bytes", ErrTooLarge, len(f.Value))
	}
	return checkID("key", f.Key)
}

func (m *memory) Put(ctx context.Context, f Entry, life time.Duration) (Entry, error) {
	if err := checkFact(f); err != nil {
		return Entry{}, err
	}
	if err := m.enter(ctx); err != nil {
		return Entry{}, err
	}
	defer m.mu.Unlock()
	old := m.facts[f.Key]
	if old == nil && f.Version != 0 || old != nil && old.Version != f.Version {
		return Entry{}, ErrConflict
	}
	old.stop()
	m.seq++
	kept := &memoryFact{Entry: Entry{Key: f.Key, Value: slices.Clone(f.Value), Version: m.seq}}
	m.facts[f.Key] = kept
	if len(f.Value) == 0 {
		delete(m.facts, f.Key)
		kept.Version = 0
	} else if life > 0 {
		kept.end = time.AfterFunc(wholeSeconds(life), func() { m.expire(kept) })
	}
	m.spread()
	return kept.Entry, nil
}

// expire takes a fact away, unless another has taken its place.
func (m *memory) expire(f *memoryFact) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts[f.Key] == f {
		delete(m.facts, f.Key)
		m.spread()
	}
}

// spread wakes who watches.
func (m *memory) spread() {
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memory) Watch(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		seen := map[string]uint64{}
		for {
			news, changed, err := m.news(ctx, seen)
			for _, f := range news {
				if !yield(f, nil) {
					return
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			select {
			case <-changed:
			case <-m.closed:
			case <-ctx.Done():
			}
		}
	}
}

// news gives the facts that are other than those seen, and what tells of the
// next ones.
func (m *memory) news(ctx context.Context, seen map[string]uint64) ([]Entry, <-chan struct{}, error) {
	if err := m.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer m.mu.Unlock()
	var news []Entry
	for _, key := range slices.Sorted(maps.Keys(m.facts)) {
		if f := m.facts[key].Entry; seen[key] != f.Version {
			seen[key] = f.Version
			news = append(news, f)
		}
	}
	for key := range seen {
		if m.facts[key] == nil {
			delete(seen, key)
			news = append(news, Entry{Key: key})
		}
	}
	return news, m.changed, nil
}
