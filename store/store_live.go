package store

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// ears are all listeners of a store. Whoever was cut off from the servers has
// missed something, perhaps.
type ears struct {
	mu  sync.Mutex
	all map[*storeEar]bool
}

func (e *ears) add(one *storeEar) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[*storeEar]bool{}
	}
	e.all[one] = true
}

func (e *ears) remove(one *storeEar) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.all, one)
}

// lose tells everybody with the next that they hear.
func (e *ears) lose() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for one := range e.all {
		one.missed.Store(true)
	}
}

func (s *store) Publish(ctx context.Context, topic string, data []byte) error {
	if err := checkPublish(topic, data); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.life.Err() != nil {
		return ErrClosed
	}
	if err := s.nc.Publish(subject(live, topic), data); err != nil {
		return explain(ctx, err)
	}
	return nil
}

func (s *store) Subscribe(ctx context.Context, topic string) (<-chan Message, error) {
	if err := checkID("topic", topic); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	e := &storeEar{ear: newEar(), came: make(chan *nats.Msg, 4*earful)}
	for _, prefix := range []string{live, logLive} {
		sub, err := s.nc.ChanSubscribe(subject(prefix, topic), e.came)
		if err != nil {
			leave()
			return nil, explain(ctx, err)
		}
		e.subs = append(e.subs, sub)
	}
	if err := s.flush(ctx); err != nil {
		e.leave()
		leave()
		return nil, err
	}
	s.ears.add(e)
	s.busy.Go(func() {
		defer leave()
		defer s.ears.remove(e)
		e.listen(ctx)
	})
	return e.heard, nil
}

// flush waits until the servers know what we have said.
func (s *store) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer cancel()
	if err := s.nc.FlushWithContext(ctx); err != nil {
		return explain(ctx, err)
	}
	return nil
}

// storeEar is a listener, with what came for it from the servers.
type storeEar struct {
	*ear
	came    chan *nats.Msg
	subs    []*nats.Subscription
	missed  atomic.Bool
	dropped int
	parts   joiner
	n       int64 // the last record that was heard
}

// listen hands on what comes until ctx ends.
func (e *storeEar) listen(ctx context.Context) {
	defer close(e.heard)
	defer e.leave()
	for {
		m, err := receive(ctx, e.came)
		if err != nil {
			return
		}
		h, ok := e.decode(m)
		if e.gap() {
			h.Gap = true
		}
		if ok || h.Gap {
			e.hear(h)
		}
	}
}

func (e *storeEar) leave() {
	for _, sub := range e.subs {
		_ = sub.Unsubscribe()
	}
}

// decode reads a message. A part of something larger is nothing yet.
func (e *storeEar) decode(m *nats.Msg) (Message, bool) {
	if !strings.HasPrefix(m.Subject, logLive) {
		return Message{Data: m.Data}, true
	}
	data, whole := e.parts.add(m.Header, m.Data)
	if !whole {
		return Message{}, false
	}
	var one entry
	if err := json.Unmarshal(data, &one); err != nil || len(one.Records) == 0 {
		return Message{Gap: true}, false // the log was deleted, or is damaged
	}
	h := Message{Records: one.Records, Gap: e.n > 0 && one.N != e.n+1}
	e.n = one.N + int64(len(one.Records)) - 1
	return h, true
}

// gap tells whether something was dropped on the way since it was last asked.
func (e *storeEar) gap() bool {
	dropped := 0
	for _, sub := range e.subs {
		n, _ := sub.Dropped()
		dropped += n
	}
	more := dropped > e.dropped
	e.dropped = dropped
	return e.missed.Swap(false) || more
}
