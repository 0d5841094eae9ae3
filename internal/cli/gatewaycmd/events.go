package gatewaycmd

import (
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
)

// inbox collects what happens to requests and opens it a little later, in
// order. A request's own goroutine must not log and count: its stack would stay
// twice as large for as long as the request waits, and thousands may. And to
// wake another one for each event would cost more than the event.
type inbox struct {
	open func(gateway.Event)

	mu     sync.Mutex
	room   sync.Cond
	kept   []gateway.Event
	spare  []gateway.Event // the one of before, to be used again
	due    bool            // a timer is set
	closed bool

	opening chan struct{} // held by one at a time, so that the order stays
}

const (
	inboxDelay = 20 * time.Millisecond // nobody who looks on notices it
	inboxBound = 1024                  // events that are kept; then requests wait for whoever opens them
)

func newInbox(open func(gateway.Event)) *inbox {
	b := &inbox{open: open, opening: make(chan struct{}, 1)}
	b.room.L = &b.mu
	return b
}

// Watch is for gateway.Config.
func (b *inbox) Watch(e gateway.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.kept) >= inboxBound && !b.closed {
		b.room.Wait()
	}
	b.kept = append(b.kept, e)
	if !b.due {
		b.due = true
		time.AfterFunc(inboxDelay, b.empty)
	}
}

// empty opens what is there.
func (b *inbox) empty() {
	b.opening <- struct{}{}
	defer func() { <-b.opening }()
	b.mu.Lock()
	all := b.kept
	b.kept, b.spare, b.due = b.spare[:0], nil, false
	b.room.Broadcast()
	b.mu.Unlock()
	for _, e := range all {
		b.open(e)
	}
	clear(all)
	b.mu.Lock()
	b.spare = all
	b.mu.Unlock()
}

// close opens what is left. What comes later is opened as well, or not, as the
// process ends: nobody waits for it.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.empty()
}
