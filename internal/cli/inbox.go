package cli

import "github.com/ridethrough/ridethrough/gateway"

// inbox hands what happens to requests from their goroutines to one of its own,
// in order. A request's own must not log and count: its stack would stay twice
// as large for as long as the request waits, and thousands may.
type inbox struct {
	events chan gateway.Event
	closed chan struct{}
	done   chan struct{}
}

// newInbox starts an inbox. Close it.
func newInbox(open func(gateway.Event)) *inbox {
	b := &inbox{make(chan gateway.Event, 256), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(b.done)
		for {
			select {
			case e := <-b.events:
				open(e)
			case <-b.closed:
				b.empty(open)
				return
			}
		}
	}()
	return b
}

// Watch is for gateway.Config. Where whoever opens the inbox is slow, requests
// wait for it: nothing is lost.
func (b *inbox) Watch(e gateway.Event) {
	select {
	case b.events <- e:
	case <-b.closed:
	}
}

// empty opens what is left.
func (b *inbox) empty(open func(gateway.Event)) {
	for {
		select {
		case e := <-b.events:
			open(e)
		default:
			return
		}
	}
}

// close opens what is left and ends the inbox. What comes later is dropped.
func (b *inbox) close() {
	close(b.closed)
	<-b.done
}
