package gatewaycmd

import (
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/watchdog"
)

// eventQueue collects events of the gateway and handles them a little later, in order. A request's own
// goroutine does not log and count, since its stack would stay twice as large while thousands of requests
// wait. Waking another goroutine for each event would cost more than the event.
type eventQueue struct {
	handle func(*gateway.Event)
	loop   *watchdog.Loop // nil: none

	mu     sync.Mutex
	space  sync.Cond
	queued []gateway.Event
	spare  []gateway.Event // the previous one, for reuse
	timer  *time.Timer     // of the next flush, while events are queued
	closed bool

	handling chan struct{} // a mutex that keeps the order
}

const (
	queueDelay = 20 * time.Millisecond // too short to be noticed
	queueBatch = 128                   // queued events that are not delayed: requests wait while these are handled
	queueLimit = 1024                  // queued events; then requests wait for the handler
)

func newEventQueue(open func(*gateway.Event), loop *watchdog.Loop) *eventQueue {
	b := &eventQueue{handle: open, loop: loop, handling: make(chan struct{}, 1)}
	b.space.L = &b.mu
	b.timer = time.AfterFunc(queueDelay, b.flush) // which finds nothing the first time
	return b
}

// Watch queues an event.
func (b *eventQueue) Watch(e gateway.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queued) >= queueLimit && !b.closed {
		b.space.Wait()
	}
	b.queued = append(b.queued, e)
	switch len(b.queued) {
	case 1:
		b.timer.Reset(queueDelay)
	case queueBatch:
		b.timer.Reset(0)
	}
}

// flush handles the queued events.
func (b *eventQueue) flush() {
	b.handling <- struct{}{}
	defer func() { <-b.handling }()
	b.loop.Begin()
	defer b.loop.End()
	b.mu.Lock()
	all := b.queued
	b.queued, b.spare = b.spare[:0], nil
	b.space.Broadcast()
	b.mu.Unlock()
	for i := range all {
		b.handle(&all[i])
	}
	clear(all)
	b.mu.Lock()
	b.spare = all
	b.mu.Unlock()
}

// close handles the remaining events. Later ones may be lost as the process ends.
func (b *eventQueue) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.flush()
}
