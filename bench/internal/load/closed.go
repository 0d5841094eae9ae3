package load

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// limit is how long clients of a loop wait for one answer.
const limit = 20 * time.Second

// Loop is a number of clients that each ask again as soon as they are answered.
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
	l := &Loop{}
	for range requests {
		c, err := Dial(addr)
		if err != nil {
			return nil, errors.Join(err, l.Stop())
		}
		c.event = func() { l.events.Add(1) }
		l.clients = append(l.clients, c)
	}
	for i, c := range l.clients {
		l.wg.Go(func() { l.fail(l.run(c, requests[i], stream)) })
	}
	return l, nil
}

// run asks until the loop ends.
func (l *Loop) run(c *Client, r *Request, stream bool) error {
	for !l.ending.Load() {
		if _, err := c.whole(r.Next(), stream, time.Now()); err != nil {
			return err
		}
		l.answers.Add(1)
	}
	return nil
}

// fail keeps the first error, but not that the loop is cut.
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

// Stop ends the loop when each client has its answer. Its error is the first
// that one of them met: such a loop has measured something else.
func (l *Loop) Stop() error {
	l.ending.Store(true)
	l.wg.Wait()
	return l.Cut()
}

// Cut is Stop for clients whose answers have no end: they leave in the middle.
func (l *Loop) Cut() error {
	l.cut.Store(true)
	for _, c := range l.clients {
		_ = c.Close()
	}
	l.wg.Wait()
	return l.err
}
