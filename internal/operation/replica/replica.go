// Package replica makes a gateway a replica of a fleet: it tells the others what it holds, so that a client may come
// back at any of them, and what the tokens have used, and it shows and acts on the requests that wait anywhere.
//
// Nothing of that concerns a request that is answered at once, and no request waits for another replica.
package replica

import (
	"encoding/json"
	"hash/fnv"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/store"
)

// The kinds of messages.
const (
	heldKind  = "held"   // entries of [gateway.Fleet]
	usedKind  = "used"   // what tokens have used since the last one
	lookKind  = "look"   // a request for waitsKind, for a while
	waitsKind = "waits"  // the requests that wait here
	actKind   = "act"    // a command on one request
	actedKind = "acted"  // the answer
	actOnKind = "act-on" // a command on an upstream

	pausesKind = "pauses" // which upstreams are paused
)

const (
	tick       = time.Second
	collecting = 20 * time.Millisecond // entries are sent together
	batch      = 128 << 10             // bytes of entries in a message
	maxEntries = 32 << 10              // that wait to be sent
)

// Replica is a gateway in a fleet. Its methods may be called concurrently.
type Replica struct {
	*gateway.Gateway
	fleet   *fleet.Fleet
	kv      store.KV
	tenants *tenant.Table

	mu      sync.Mutex
	entries []json.RawMessage // to be sent
	sending clock.Timer       // nil: none is to be sent
	ticker  clock.Timer
	looks   looks
	acts    acts
	pauses  pauses
	closed  bool
}

// New returns the replica of a fleet, whose gateway Join adds. Answers whose clients have left are kept in kv; nil: they
// stay where they were read.
func New(f *fleet.Fleet, kv store.KV) *Replica { return &Replica{fleet: f, kv: kv} }

// idBits is how many requests a replica numbers before it may use the numbers of another one.
const idBits = 24

// Fleet returns what its gateway is configured with.
func (r *Replica) Fleet() *gateway.Fleet {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.fleet.ID)) // it never fails
	c := &gateway.Fleet{Replica: r.fleet.ID, First: int64(h.Sum32()>>12) << idBits, Tell: r.tell}
	if r.kv != nil {
		c.Answers = &answers{kv: r.kv, fleet: r.fleet}
	}
	return c
}

// Join begins to tell and to hear. t may be nil.
func (r *Replica) Join(g *gateway.Gateway, t *tenant.Table) {
	r.Gateway, r.tenants = g, t
	f := r.fleet
	fleet.On(f, heldKind, func(_ string, entries []json.RawMessage) {
		for _, e := range entries {
			g.Hear(e)
		}
	})
	fleet.On(f, usedKind, r.heardUse)
	fleet.On(f, lookKind, r.heardLook)
	fleet.On(f, waitsKind, r.heardWaits)
	fleet.On(f, actKind, r.heardAct)
	fleet.On(f, actedKind, r.heardActed)
	fleet.On(f, actOnKind, r.heardActOn)
	fleet.On(f, pausesKind, r.heardPauses)
	f.OnChange(func() { g.SetMembers(f.Members()) })
	g.SetMembers(f.Members())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticker = f.Clock.AfterFunc(tick, r.tick)
}

// Leave sends what is still to be told. Call it when the gateway has ended, before the fleet is left.
func (r *Replica) Leave() {
	r.flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.ticker != nil {
		r.ticker.Stop()
	}
}

// tell tells the others an entry, soon and together with others.
func (r *Replica) tell(entry []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.entries) == maxEntries {
		return
	}
	r.entries = append(r.entries, entry)
	if r.sending == nil {
		r.sending = r.fleet.Clock.AfterFunc(collecting, r.flush)
	}
}

// flush sends the entries. Without a connection they are lost: when there is one again, everything is told anew.
func (r *Replica) flush() {
	r.mu.Lock()
	all := r.entries
	r.entries, r.sending = nil, nil
	r.mu.Unlock()
	for len(all) > 0 {
		n, size := 0, 0
		for n < len(all) && (n == 0 || size+len(all[n]) <= batch) {
			size += len(all[n])
			n++
		}
		_ = r.fleet.Send(heldKind, all[:n])
		all = all[n:]
	}
}

// tick tells what was used and what is paused, and what waits while another replica shows that.
func (r *Replica) tick() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.ticker.Reset(tick)
	now := r.fleet.Clock.Now()
	shown, paused := r.looks.isShown(now), r.pauses.due(now)
	r.mu.Unlock()
	if paused != nil {
		_ = r.fleet.Send(pausesKind, paused)
	}
	if r.tenants != nil && r.fleet.Number() > 1 {
		if used := r.tenants.Report(); len(used) > 0 {
			_ = r.fleet.Send(usedKind, used)
		}
	}
	if shown {
		r.sendWaits()
	}
}

// heardUse counts what tokens have used at another replica.
func (r *Replica) heardUse(from string, used map[string]tenant.Use) {
	if r.tenants != nil {
		r.tenants.Hear(from, used, r.fleet.Clock.Now())
	}
}
