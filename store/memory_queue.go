package store

import (
	"context"
	"slices"
	"time"
)

const (
	lease     = 30 * time.Second // how long a claim holds without a sign of life
	dedupeFor = 2 * time.Minute  // how long an offer's key is remembered
)

func (m *memory) Enqueue(ctx context.Context, t Job) error {
	if err := checkTicket(t); err != nil {
		return err
	}
	t.Body = slices.Clone(t.Body)
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if t.Key != "" && m.twice(t.Turn+"/"+t.Key) {
		return nil
	}
	m.fallDue(&memoryTicket{Job: t})
	return nil
}

// twice tells whether an offer was made a short while ago, and remembers it.
func (m *memory) twice(key string) bool {
	for k, at := range m.offered {
		if time.Since(at) >= dedupeFor {
			delete(m.offered, k)
		}
	}
	_, known := m.offered[key]
	if !known {
		m.offered[key] = time.Now()
	}
	return known
}

// memoryTicket is a ticket in the queue, parked, due or held.
type memoryTicket struct {
	Job
	timer *time.Timer // of a parked one
	done  bool        // nobody needs it any more
}

// fallDue gives a ticket to whoever comes first.
func (m *memory) fallDue(t *memoryTicket) {
	m.due = append(m.due, t)
	close(m.came)
	m.came = make(chan struct{})
}

func (m *memory) Schedule(ctx context.Context, t Job, at time.Time) error {
	if err := checkTicket(t); err != nil {
		return err
	}
	t.Body = slices.Clone(t.Body)
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	parked := &memoryTicket{Job: t}
	wait := time.Until(at)
	if wait <= 0 {
		m.fallDue(parked)
		return nil
	}
	m.unpark(t.Turn)
	parked.timer = time.AfterFunc(wait, func() { m.ring(parked) })
	m.parked[t.Turn] = parked
	return nil
}

// ring makes a parked ticket due, unless another parking has taken its place.
func (m *memory) ring(t *memoryTicket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parked[t.Turn] == t {
		delete(m.parked, t.Turn)
		m.fallDue(t)
	}
}

// unpark forgets a parking.
func (m *memory) unpark(turn string) {
	if t := m.parked[turn]; t != nil {
		t.timer.Stop()
		delete(m.parked, turn)
	}
}

func (m *memory) Unschedule(ctx context.Context, turn string) error {
	if err := checkID("turn", turn); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.unpark(turn)
	return nil
}

func (m *memory) Take(ctx context.Context) (Lease, error) {
	for {
		if err := m.enter(ctx); err != nil {
			return nil, err
		}
		c, came := m.take(), m.came
		m.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-came:
		case <-m.closed:
		case <-ctx.Done():
		}
	}
}

// take holds the ticket that has been due for the longest, if there is one.
func (m *memory) take() *memoryClaim {
	for len(m.due) > 0 {
		t := m.due[0]
		m.due = m.due[1:]
		if !t.done {
			return m.hold(t)
		}
	}
	return nil
}

// rest stops everything that would fall due later.
func (m *memory) rest() {
	for turn := range m.parked {
		m.unpark(turn)
	}
	for c := range m.held {
		c.lapse.Stop()
	}
}

// memoryClaim is a ticket in somebody's hand.
type memoryClaim struct {
	m      *memory
	ticket *memoryTicket
	lapse  *time.Timer
}

// hold gives a ticket to somebody, for the time of a lease.
func (m *memory) hold(t *memoryTicket) *memoryClaim {
	c := &memoryClaim{m: m, ticket: t}
	m.held[c] = true
	c.lapse = time.AfterFunc(lease, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.release(c)
	})
	return c
}

// release makes a claim's ticket due again, if it is held and not done.
func (m *memory) release(c *memoryClaim) {
	held := m.held[c]
	delete(m.held, c)
	if held && !c.ticket.done {
		m.fallDue(c.ticket)
	}
}

func (c *memoryClaim) Job() Job { return c.ticket.Job }

func (c *memoryClaim) Extend() error {
	return c.act(func() {
		if c.m.held[c] {
			c.lapse.Reset(lease)
		}
	})
}

func (c *memoryClaim) Done() error {
	return c.act(func() {
		c.ticket.done = true
		c.lapse.Stop()
		delete(c.m.held, c)
	})
}

func (c *memoryClaim) Nack(after time.Duration) error {
	return c.act(func() {
		switch {
		case after <= 0:
			c.lapse.Stop()
			c.m.release(c)
		case c.m.held[c]:
			c.lapse.Reset(after)
		}
	})
}

// act does something with the engine locked, if it is open.
func (c *memoryClaim) act(do func()) error {
	if err := c.m.enter(context.Background()); err != nil {
		return err
	}
	defer c.m.mu.Unlock()
	do()
	return nil
}
