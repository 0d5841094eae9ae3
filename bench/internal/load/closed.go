package load

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const limit = 20 * time.Second

// Loop is a number of clients that each send the next request as soon as they are answered.
type Loop struct {
	answers, events atomic.Int64
	ending, cut     atomic.Bool
	clients         []*Client
	wg              sync.WaitGroup
	mu              sync.Mutex
	err             error // the first that went wrong
}

// NewLoop starts as many clients as it is given requests.
func NewLoop(addr string, requests []*Request, stream bool) (*Loop, error) {
	clients, err := dialAll(addr, len(requests))
	if err != nil {
		return nil, err
	}
	l := &Loop{clients: clients}
	for i, c := range clients {
		c.event = func() { l.events.Add(1) }
		l.wg.Go(func() { l.fail(l.run(c, requests[i], stream)) })
	}
	return l, nil
}

func (l *Loop) run(c *Client, r *Request, stream bool) error {
	for !l.ending.Load() {
		if _, err := c.whole(r.Next(), stream, time.Now()); err != nil {
			return err
		}
		l.answers.Add(1)
	}
	return nil
}

// fail keeps the first error. That the loop was cut off is not an error.
func (l *Loop) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && !l.cut.Load() {
		l.err = err
	}
}

// Answers counts the whole answers so far.
func (l *Loop) Answers() int64 { return l.answers.Load() }

// Events counts the events of streams so far.
func (l *Loop) Events() int64 { return l.events.Load() }

// Stop ends the loop when each client has its answer. It returns the first error of a client: such a loop has
// measured something else.
func (l *Loop) Stop() error {
	l.ending.Store(true)
	l.wg.Wait()
	return l.Cut()
}

// Cut is Stop for clients of endless answers: they leave in the middle.
func (l *Loop) Cut() error {
	l.cut.Store(true)
	_ = closeAll(l.clients)
	l.wg.Wait()
	return l.err
}

// Rush sends each request from its own client, which sends the next one as soon as it is answered. It returns the
// samples within a span, after a warm-up.
func Rush(addr string, requests []*Request, stream bool, warm, span time.Duration) ([]Sample, error) {
	clients, err := dialAll(addr, len(requests))
	if err != nil {
		return nil, err
	}
	defer func() { _ = closeAll(clients) }()
	from := time.Now().Add(warm)
	samples, errs := make([][]Sample, len(clients)), make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { samples[i], errs[i] = c.rush(requests[i], stream, from, from.Add(span)) })
	}
	wg.Wait()
	return slices.Concat(samples...), errors.Join(errs...)
}

// rush asks until a moment, and keeps the samples that were sent after another.
func (c *Client) rush(r *Request, stream bool, from, to time.Time) (samples []Sample, err error) {
	for {
		sent := time.Now()
		if sent.After(to) {
			return samples, nil
		}
		a, err := c.whole(r.Next(), stream, sent)
		if err != nil {
			return nil, err
		}
		if sent.After(from) {
			samples = append(samples, Sample{First: a.First.Sub(sent), Whole: time.Since(sent)})
		}
	}
}
