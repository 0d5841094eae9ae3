package fleet

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// ErrAway is the error of a transport without a connection.
var ErrAway = errors.New("no connection with the fleet")

// Network carries messages between replicas in this process, for simulations and tests. Its fields may be changed
// only by the functions themselves.
type Network struct {
	Clock clock.Clock          // nil: the machine's
	Delay func() time.Duration // of each delivery; nil: none
	Lost  func() bool          // whether a delivery is lost; nil: none is
	// Reaches reports whether messages of one replica reach another. One that does not reach itself has no
	// connection. nil: all do.
	Reaches func(from, to string) bool

	mu          sync.Mutex
	subscribers map[string][]subscriber // by topic
}

type subscriber struct {
	id      string
	receive func([]byte)
}

// Connect returns the transport of a replica.
func (n *Network) Connect(id string) Transport { return &port{n, id} }

// port is a replica's connection with a network.
type port struct {
	network *Network
	id      string
}

// Publish implements [Transport].
func (p *port) Publish(topic string, data []byte) error {
	n := p.network
	if !n.reaches(p.id, p.id) {
		return ErrAway
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.subscribers[topic] {
		if n.Lost != nil && n.Lost() {
			continue
		}
		n.deliver(p.id, s, slices.Clone(data))
	}
	return nil
}

// deliver calls a subscriber after the delay. mu is held.
func (n *Network) deliver(from string, to subscriber, data []byte) {
	var delay time.Duration
	if n.Delay != nil {
		delay = n.Delay()
	}
	clock.Or(n.Clock).AfterFunc(delay, func() {
		if n.reaches(from, to.id) {
			to.receive(data)
		}
	})
}

func (n *Network) reaches(from, to string) bool { return n.Reaches == nil || n.Reaches(from, to) }

// Subscribe implements [Transport].
func (p *port) Subscribe(topic string, receive func([]byte)) {
	n := p.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[string][]subscriber{}
	}
	n.subscribers[topic] = append(n.subscribers[topic], subscriber{p.id, receive})
}
