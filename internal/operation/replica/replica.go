// Package replica makes a gateway a replica of a fleet: it tells the others what it holds, so that a client may come
// back at any of them, and what the tokens have used, and it shows and acts on the requests that wait anywhere.
//
// Nothing of that concerns a request that is answered at once, and no request waits for another replica.
package replica

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/store"
)

const (
	actKind   = "act"   // a command
	actedKind = "acted" // the answer
)

const (
	tick         = time.Second
	useLasts     = 10 * time.Second // what tokens hold at another replica is believed for so long
	mostOutcomes = 32 << 10         // that are known of requests, of all replicas together
)

// Replica is a gateway in a fleet. Its methods may be called concurrently.
type Replica struct {
	*gateway.Gateway
	fleet   *fleet.Fleet
	kv      store.KV
	tenants *tenant.Table

	pausing sync.Mutex // a command to pause or resume, here and in the map

	mu     sync.Mutex
	ticker clock.Timer
	acts   int64          // commands to other replicas
	acting map[int64]*act // those whose answers are waited for
	closed bool

	outcomes *fleet.Map[gateway.Outcome] // of requests
	used     *fleet.Map[tenant.Use]      // what tokens have used since the last report, by their names
	pauses   *fleet.Map[bool]            // which upstreams are paused, or no longer, by their names
	waits    *fleet.Map[gateway.Wait]    // by the numbers of the requests
}

// New returns the replica of a fleet, whose gateway Join adds. Answers whose clients have left are stored in kv, or
// stay local if that is nil.
func New(f *fleet.Fleet, kv store.KV) *Replica {
	r := &Replica{fleet: f, kv: kv, acting: map[int64]*act{}}
	r.outcomes = fleet.NewMap(f, "outcomes", fleet.Options[gateway.Outcome]{
		MaxTTL: 31 * 24 * time.Hour, OfOne: mostOutcomes / 2, OfAll: mostOutcomes, Common: true, Outlives: true, Prefix: 32, Changed: r.heardOutcome,
	})
	return r
}

// Fleet returns the fleet for the gateway's configuration.
func (r *Replica) Fleet() *gateway.Fleet {
	c := &gateway.Fleet{Replica: r.fleet.ID, First: first(r.fleet.ID), Outcomes: outcomes{r.outcomes}, Lives: r.fleet.Lives}
	if r.kv != nil {
		c.Answers = &answers{kv: r.kv, fleet: r.fleet}
	}
	return c
}

// Join starts the exchange with the other replicas.
func (r *Replica) Join(g *gateway.Gateway, t *tenant.Table) {
	r.mu.Lock()
	r.Gateway, r.tenants = g, t
	r.mu.Unlock()
	f := r.fleet
	r.used = fleet.NewMap(f, "used", fleet.Options[tenant.Use]{MaxTTL: useLasts, OfOne: 2000, OfAll: 20_000, Changed: r.heardUse})
	r.pausing.Lock()
	r.pauses = fleet.NewMap(f, "pauses", fleet.Options[bool]{MaxTTL: pauseLasts, OfOne: 256, OfAll: 1024, Common: true, Outlives: true, Changed: r.heardPause})
	r.pausing.Unlock()
	r.waits = fleet.NewMap(f, "waits", fleet.Options[gateway.Wait]{MaxTTL: waitsLast, OfOne: mostWaits, OfAll: 5 * mostWaits})
	t.HeldElsewhere(r.heldElsewhere)
	fleet.On(f, actKind, r.heardAct)
	fleet.On(f, actedKind, r.heardActed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticker = f.Clock.AfterFunc(tick, r.tick)
}

// Leave reverses Join. Call it when the gateway has ended, before the fleet is left.
func (r *Replica) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.ticker != nil {
		r.ticker.Stop()
	}
}

type outcomes struct{ *fleet.Map[gateway.Outcome] }

func (o outcomes) Lookup(key string) (outcome gateway.Outcome, at time.Time, known bool) {
	e, known := o.Get(key)
	return e.Value, e.At, known
}

// heardOutcome passes an outcome that another replica has delivered to the gateway.
func (r *Replica) heardOutcome(e fleet.Entry[gateway.Outcome]) {
	r.mu.Lock()
	g := r.Gateway
	r.mu.Unlock()
	if g != nil && e.Gone {
		g.Delivered(e.Key)
	}
}

func (r *Replica) tick() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.ticker.Reset(tick)
	r.mu.Unlock()
	r.keepPauses()
	if r.fleet.Number() == 1 {
		return
	}
	r.putWaits()
	for name, use := range r.tenants.Report() {
		r.used.Put(name, use, useLasts)
	}
}

func (r *Replica) heardUse(e fleet.Entry[tenant.Use]) {
	if !e.Gone {
		r.tenants.Hear(e.Key, e.Value, r.fleet.Clock.Now())
	}
}

func (r *Replica) heldElsewhere(token string) (n int) {
	for e := range r.used.Others(token) {
		n += min(max(e.Value.Held, 0), 1<<20)
	}
	return n
}

const (
	mostWaits = 5000                // of one replica, the oldest
	waitsLast = 31 * 24 * time.Hour // unless they end, or their replica goes
	textBound = 256
)

// Waits returns the requests that wait for their answer anywhere in the fleet, the oldest first. Those of other
// replicas are a second old.
func (r *Replica) Waits() []gateway.Wait {
	all := r.Gateway.Waits()
	for _, e := range r.waits.All() {
		if e.Owner != r.fleet.ID {
			w := shown(e.Value)
			w.Replica = e.Owner
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b gateway.Wait) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (r *Replica) putWaits() {
	waits := map[string]bool{}
	all := r.Gateway.Waits()
	for _, w := range all[:min(len(all), mostWaits)] {
		key := strconv.FormatInt(w.ID, 10)
		waits[key] = true
		w = shown(w)
		if e, known := r.waits.Get(key); !known || !reflect.DeepEqual(e.Value, w) {
			r.waits.Put(key, w, waitsLast)
		}
	}
	for _, e := range r.waits.All() {
		if e.Owner == r.fleet.ID && !waits[e.Key] {
			r.waits.Delete(e.Key)
		}
	}
}

// shown returns a wait as other replicas show it.
func shown(w gateway.Wait) gateway.Wait {
	w.Outage, w.Parent, w.Fault = breaker.Outage{}, "", w.Fault.Shared(textBound)
	return w
}
