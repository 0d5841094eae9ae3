// Package fleet joins gateways of one name that run side by side, its replicas, so that they can act as one: each
// knows which others live, and sends them messages.
//
// A fleet has no leader and stores nothing. A [Transport] carries its messages, and may lose, delay and reorder
// them. A replica without a connection is alone, and goes on by itself at once; it is in the fleet again with its
// next sign of life that comes through. Clocks of replicas may differ: no message has an instant, only durations.
// There is no goroutine behind it: timers and the transport call it.
//
// Package fleet/sharing has the circuit breakers of replicas act as one, package fleet/storelink carries messages
// over NATS, and [Network] within a process.
package fleet

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// Transport carries messages between the replicas of a fleet.
type Transport interface {
	// Publish sends a message to every subscriber of a topic, the sender included. It does not block. An error
	// means that there is no connection.
	Publish(topic string, data []byte) error
	// Subscribe calls receive for each message on a topic, from then on.
	Subscribe(topic string, receive func(data []byte))
}

const (
	beat        = 2 * time.Second        // between two signs of life
	gone        = 3 * beat               // without one for so long, a replica has gone
	greeting    = 500 * time.Millisecond // within which a newcomer is greeted with a sign of life
	maxMembers  = 1024
	maxMessage  = 256 << 10
	maxIDLength = 80
)

// ErrTooLarge reports a message of more than 256 KiB.
var ErrTooLarge = errors.New("a message to the fleet is too large")

// Config configures a replica.
type Config struct {
	Name      string         // of the fleet: letters, digits, - and _
	ID        string         // of this replica, unique in the fleet, see [NewID]
	Transport Transport      // carries the messages
	Clock     clock.Clock    // nil: the machine's
	Rand      func() float64 // nil: math/rand/v2
}

// NewID returns an id for a replica on a host.
func NewID(host string) string {
	return CleanName(cmp.Or(host, "replica")) + "-" + strings.ToLower(rand.Text()[:8])
}

// CleanName returns a name of at most 40 letters, digits, - and _ for another one, such as a host's.
func CleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if isWord(r) {
			return r
		}
		return '-'
	}, name)
	return name[:min(len(name), 40)]
}

// ValidName reports whether a fleet may have a name: 1 to 40 letters, digits, - and _.
func ValidName(name string) bool {
	return name != "" && len(name) <= 40 && !strings.ContainsFunc(name, func(r rune) bool { return !isWord(r) })
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}

// Fleet is one replica's part in a fleet. Its methods may be called concurrently.
type Fleet struct {
	Config

	mu        sync.Mutex
	members   map[string]time.Time // the others: when each was heard last, by this replica's clock
	heard     time.Time            // when a message of its own has come back
	connected bool
	since     time.Time // when connected has changed
	next      time.Time // its next sign of life
	timer     clock.Timer
	closed    bool
	receivers map[string][]func(from string, body []byte)
	watchers  []func()
	says      func() any // what signs of life carry
}

// envelope is a message.
type envelope struct {
	From string          `json:"from"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body,omitempty"`
}

// The kinds of messages of this package.
const (
	alive   = "alive"
	leaving = "leaving"
)

// Join joins a fleet. The replica is alone until its first sign of life comes back.
func Join(c Config) *Fleet {
	if c.Rand == nil {
		c.Rand = mathrand.Float64
	}
	c.Clock = clock.Or(c.Clock)
	f := &Fleet{Config: c, members: map[string]time.Time{}, receivers: map[string][]func(string, []byte){}}
	f.since = c.Clock.Now()
	c.Transport.Subscribe(f.topic("all"), f.receive)
	c.Transport.Subscribe(f.topic("to."+c.ID), f.receive)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = c.Clock.AfterFunc(0, f.beat)
	return f
}

func (f *Fleet) topic(of string) string { return "ridethrough." + f.Name + "." + of }

// Close leaves the fleet, and tells the others so.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.timer.Stop()
	_ = f.publish("all", leaving, nil) // they notice it anyway, a little later
}

// On calls receive for each message of a kind from another replica, one with an unreadable body excepted. It is called
// by the transport. Register before the messages are due.
func On[T any](f *Fleet, kind string, receive func(from string, message T)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.receivers[kind] = append(f.receivers[kind], func(from string, body []byte) {
		var message T
		if json.Unmarshal(body, &message) == nil {
			receive(from, message)
		}
	})
}

// OnBeat has each sign of life carry what tell returns, and calls hear for those of the others as [On] does.
func OnBeat[T any](f *Fleet, tell func() T, hear func(from string, about T)) {
	On(f, alive, hear)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.says = func() any { return tell() }
}

// OnChange calls changed after another replica has come or gone, and after the connection is lost or there again.
func (f *Fleet) OnChange(changed func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers = append(f.watchers, changed)
}

// Send sends a message to all other replicas. It does not wait: an error means that there is no connection, none that
// it has arrived.
func (f *Fleet) Send(kind string, message any) error { return f.send("all", kind, message) }

// SendTo sends a message to one replica.
func (f *Fleet) SendTo(id, kind string, message any) error { return f.send("to."+id, kind, message) }

func (f *Fleet) send(to, kind string, message any) error {
	err := f.publish(to, kind, message)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		f.mu.Lock()
		if changed := f.lose(); changed != nil { // later: the sender may hold a lock that they need
			f.Clock.AfterFunc(0, func() { f.notify(changed) })
		}
		f.mu.Unlock()
	}
	return err
}

// publish sends a message.
func (f *Fleet) publish(to, kind string, message any) error {
	e := envelope{From: f.ID, Kind: kind}
	var err error
	if message != nil {
		if e.Body, err = json.Marshal(message); err != nil {
			return fmt.Errorf("message to the fleet: %w", err)
		}
	}
	if len(e.Body) > maxMessage {
		return ErrTooLarge
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("message to the fleet: %w", err)
	}
	return f.Transport.Publish(f.topic(to), data)
}

// receive takes in a message.
func (f *Fleet) receive(data []byte) {
	var e envelope
	if len(data) > 2*maxMessage || json.Unmarshal(data, &e) != nil || e.From == "" || len(e.From) > maxIDLength {
		return
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return
	}
	changed := f.note(e, f.Clock.Now())
	var receivers []func(string, []byte)
	if e.From != f.ID { // its own only shows that there is a connection
		receivers = f.receivers[e.Kind]
	}
	f.mu.Unlock()
	f.notify(changed)
	for _, receive := range receivers {
		receive(e.From, e.Body)
	}
}

// note notes the sender of a message, and returns what to call after a change.
func (f *Fleet) note(e envelope, now time.Time) (changed []func()) {
	if e.From == f.ID {
		f.heard = now
		if f.connected {
			return nil
		}
		f.connected, f.since = true, now
		return f.watchers
	}
	_, known := f.members[e.From]
	switch {
	case e.Kind == leaving:
		delete(f.members, e.From)
		if known {
			return f.watchers
		}
	case known:
		f.members[e.From] = now
	case len(f.members) < maxMembers:
		f.members[e.From] = now
		f.greet(now)
		return f.watchers
	}
	return nil
}

// greet sends the next sign of life soon: a newcomer is to learn who lives. Many newcomers are greeted with one.
func (f *Fleet) greet(now time.Time) {
	soon := now.Add(time.Duration(f.Rand() * float64(greeting)))
	if f.next.After(now.Add(greeting)) {
		f.next = soon
		f.timer.Reset(soon.Sub(now))
	}
}

// beat sends a sign of life, forgets the replicas of which none has come, and sets the timer for the next.
func (f *Fleet) beat() {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return
	}
	now := f.Clock.Now()
	changed := f.expire(now)
	in := time.Duration((0.9 + 0.2*f.Rand()) * float64(beat))
	f.next = now.Add(in)
	f.timer.Reset(in)
	says := f.says
	f.mu.Unlock()
	f.notify(changed)
	var about any
	if says != nil {
		about = says()
	}
	_ = f.Send(alive, about)
}

// expire forgets what has not been heard for too long.
func (f *Fleet) expire(now time.Time) (changed []func()) {
	if f.connected && now.Sub(f.heard) > gone {
		return f.lose()
	}
	for id, heard := range f.members {
		if now.Sub(heard) > gone {
			delete(f.members, id)
			changed = f.watchers
		}
	}
	return changed
}

// lose notes that there is no connection.
func (f *Fleet) lose() (changed []func()) {
	if !f.connected && len(f.members) == 0 {
		return nil
	}
	f.connected, f.since = false, f.Clock.Now()
	clear(f.members)
	return f.watchers
}

// notify calls the watchers of a change. mu is not held.
func (f *Fleet) notify(watchers []func()) {
	for _, changed := range watchers {
		changed()
	}
}

// Members returns the ids of the replicas that live, this one included, in their order.
func (f *Fleet) Members() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all()
}

// all returns the replicas that live, in their order. A replica without a connection is alone.
func (f *Fleet) all() []string {
	if !f.connected {
		return []string{f.ID}
	}
	all := append(slices.Collect(maps.Keys(f.members)), f.ID)
	slices.Sort(all)
	return all
}

// Number returns how many replicas live, this one included.
func (f *Fleet) Number() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.connected {
		return 1
	}
	return len(f.members) + 1
}

// Status is a replica's view of its fleet.
type Status struct {
	Name      string
	ID        string    // of this replica
	Connected bool      // else it is alone
	Since     time.Time // by this replica's clock
	Members   []string  // the replicas that live, this one included
}

// Status returns the replica's view of its fleet.
func (f *Fleet) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Status{f.Name, f.ID, f.connected, f.since, f.all()}
}
