// Package storelink carries the messages of a fleet with the publish/subscribe of a store, which is that of NATS.
package storelink

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

const (
	backlog    = 1024            // messages that wait to be sent
	retryDelay = 2 * time.Second // before another attempt to subscribe, at most
)

// Link is the transport of a replica. A store that is not open is a lost connection.
type Link struct {
	store    store.PubSub
	lifetime context.Context
	end      context.CancelFunc
	queue    chan message
	away     atomic.Bool // the latest message could not be sent
	running  sync.WaitGroup
}

type message struct {
	topic string
	data  []byte
}

// Open returns the transport of a replica. Close it before the store.
func Open(s store.PubSub) *Link {
	l := &Link{store: s, queue: make(chan message, backlog)}
	l.lifetime, l.end = context.WithCancel(context.Background())
	l.running.Go(l.send)
	return l
}

// Close ends the subscriptions. What still waits to be sent is sent first, if there is a connection.
func (l *Link) Close() {
	l.end()
	l.running.Wait()
}

// send sends the messages that are published, until Close.
func (l *Link) send() {
	for {
		select {
		case m := <-l.queue:
			l.sendOne(m)
		case <-l.lifetime.Done():
			l.flush()
			return
		}
	}
}

// flush sends what still waits, until that fails.
func (l *Link) flush() {
	for !l.away.Load() {
		select {
		case m := <-l.queue:
			l.sendOne(m)
		default:
			return
		}
	}
}

func (l *Link) sendOne(m message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.lifetime), retryDelay)
	defer cancel()
	l.away.Store(l.store.Publish(ctx, m.topic, m.data) != nil)
}

// Publish implements [fleet.Transport]. Without a connection it still tries, to notice that there is one again.
func (l *Link) Publish(topic string, data []byte) error {
	if l.lifetime.Err() != nil {
		return fleet.ErrAway
	}
	select {
	case l.queue <- message{topic, data}:
	default:
		return fleet.ErrAway
	}
	if l.away.Load() {
		return fleet.ErrAway
	}
	return nil
}

// Subscribe implements [fleet.Transport].
func (l *Link) Subscribe(topic string, receive func(data []byte)) {
	l.running.Go(func() {
		for l.lifetime.Err() == nil {
			messages, err := l.store.Subscribe(l.lifetime, topic)
			if err != nil {
				_ = retry.Sleep(l.lifetime, time.Duration((0.5+0.5*rand.Float64())*float64(retryDelay)))
				continue
			}
			for m := range messages {
				if m.Data != nil {
					receive(m.Data)
				}
			}
		}
	})
}
