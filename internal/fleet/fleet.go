// Package fleet joins gateways of one name that run side by side, its replicas, so that they can act as one: each
// knows which others live, and a [Map] has what all of them know. Commands are messages.
//
// A fleet has no leader and stores nothing. A [Transport] carries its messages, and may lose, delay and reorder
// them. A replica without a connection is alone, and continues by itself at once; it is in the fleet again with its
// next sign of life that comes through, which says what others have missed. Clocks of replicas may differ: no message
// has an instant, only durations. It has no goroutine: timers and the transport call it.
//
// Package fleet/sharing has the circuit breakers of replicas act as one. The program's transport is a store's PubSub,
// and [Network] is one within a process.
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

// NewID returns an id for a replica on a host, of letters, digits, - and _.
func NewID(host string) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, cmp.Or(host, "replica"))
	return name[:min(len(name), 40)] + "-" + strings.ToLower(rand.Text()[:8])
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
	receivers map[string]func(from string, body []byte)
	watchers  []func()
	beats     []func()              // before a sign of life
	maps      map[string]replicated // by kind
	flushed   time.Time             // when puts were sent last
	flusher   clock.Timer           // nil: no puts wait for it

	sending sync.Mutex // puts go out in their order; before the locks of maps and mu
}

// envelope is a message.
type envelope struct {
	From string          `json:"from"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body,omitempty"`
}

// The kinds of messages of this package.
const (
	alive   = "alive"   // a signOfLife
	leaving = "leaving" // without a body
	putting = "puts"    // batches of entries
	missing = "missing" // asks for all that lives in maps of these kinds
)

// signOfLife is what a replica says of its maps: how many puts it has sent, and those that come with this.
type signOfLife struct {
	Heads map[string]int64 `json:"heads,omitempty"`
	Puts  []batch          `json:"puts,omitempty"`
}

// Join joins a fleet. The replica is alone until its first sign of life comes back.
func Join(c Config) *Fleet {
	if c.Rand == nil {
		c.Rand = mathrand.Float64
	}
	c.Clock = clock.Or(c.Clock)
	f := &Fleet{Config: c, members: map[string]time.Time{}, receivers: map[string]func(string, []byte){}, maps: map[string]replicated{}}
	f.since = c.Clock.Now()
	On(f, alive, f.heardAlive)
	On(f, putting, f.heardPuts)
	On(f, missing, f.heardMissing)
	c.Transport.Subscribe(f.topic("all"), f.receive)
	c.Transport.Subscribe(f.topic("to."+c.ID), f.receive)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = c.Clock.AfterFunc(0, f.beat)
	return f
}

func (f *Fleet) topic(of string) string { return "ridethrough." + f.Name + "." + of }

// Close leaves the fleet, and tells the others so, after what is still to be sent.
func (f *Fleet) Close() {
	f.flush()
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
	f.receivers[kind] = func(from string, body []byte) {
		var message T
		if json.Unmarshal(body, &message) == nil {
			receive(from, message)
		}
	}
}

// OnBeat calls prepare before each sign of life, which carries what it puts.
func (f *Fleet) OnBeat(prepare func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beats = append(f.beats, prepare)
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
		if f.lose() { // later: the sender may hold a lock that they need
			f.Clock.AfterFunc(0, f.notify)
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
	receive := f.receivers[e.Kind]
	f.mu.Unlock()
	if changed {
		f.notify()
	}
	if receive != nil && e.From != f.ID { // its own only shows that there is a connection
		receive(e.From, e.Body)
	}
}

// note notes the sender of a message, and reports whether the replicas that live, or the connection, have changed.
func (f *Fleet) note(e envelope, now time.Time) (changed bool) {
	if e.From == f.ID {
		f.heard = now
		if f.connected {
			return false
		}
		f.connected, f.since = true, now
		return true
	}
	_, known := f.members[e.From]
	switch {
	case e.Kind == leaving:
		delete(f.members, e.From)
		return known
	case known:
		f.members[e.From] = now
	case len(f.members) < maxMembers && e.Kind != putting: // its next sign of life says what was missed
		f.members[e.From] = now
		f.greet(now)
		return true
	}
	return false
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
	f.flushed = now // what is put now goes with the sign of life
	beats := f.beats
	f.mu.Unlock()
	if changed {
		f.notify()
	}
	for _, m := range f.allMaps() {
		m.review() // also what has expired
	}
	for _, prepare := range beats {
		prepare()
	}
	f.sendAlive()
}

// expire forgets what has not been heard for too long.
func (f *Fleet) expire(now time.Time) (changed bool) {
	if f.connected && now.Sub(f.heard) > gone {
		return f.lose()
	}
	for id, heard := range f.members {
		if now.Sub(heard) > gone {
			delete(f.members, id)
			changed = true
		}
	}
	return changed
}

// lose notes that there is no connection.
func (f *Fleet) lose() (changed bool) {
	if !f.connected && len(f.members) == 0 {
		return false
	}
	f.connected, f.since = false, f.Clock.Now()
	clear(f.members)
	return true
}

// notify has the maps know of a change, and calls the watchers. mu is not held.
func (f *Fleet) notify() {
	for _, m := range f.allMaps() {
		m.review()
	}
	f.mu.Lock()
	watchers := f.watchers
	f.mu.Unlock()
	for _, changed := range watchers {
		changed()
	}
}

// Lives reports whether another replica lives.
func (f *Fleet) Lives(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, lives := f.members[id]
	return lives
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

// Status is a replica's view of its fleet. Its JSON is that of the API.
type Status struct {
	Name      string    `json:"name"`
	ID        string    `json:"replica"`   // this one
	Connected bool      `json:"connected"` // else it is alone
	Since     time.Time `json:"since"`     // by this replica's clock
	Members   []string  `json:"replicas"`  // those that live, this one included, in their order
}

// Status returns the replica's view of its fleet.
func (f *Fleet) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	members := []string{f.ID}
	if f.connected {
		members = slices.AppendSeq(members, maps.Keys(f.members))
		slices.Sort(members)
	}
	return Status{f.Name, f.ID, f.connected, f.since, members}
}
