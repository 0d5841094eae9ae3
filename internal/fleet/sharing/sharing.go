// Package sharing has the circuit breakers of a fleet's replicas act as one, and the limits of their upstreams be one:
// what each knows is in maps of the fleet. Nothing is put while no circuit is open and no limit near, and nothing is
// asked before a call goes.
package sharing

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/fleet"
)

// lasts is how long what a breaker has put is believed. It is put again with each sign of life.
const lasts = 6 * time.Second

// Sharing is a replica's part. Its methods may be called concurrently.
type Sharing struct {
	fleet    *fleet.Fleet
	breakers *fleet.Map[json.RawMessage] // what they put, by upstream and their keys
	limits   *fleet.Map[json.RawMessage] // what tables put, by upstream, model and credential

	mu        sync.Mutex
	upstreams map[string]*upstream
	tables    map[string]*limits
}

// Start has the breakers that Join share their state with those of the other replicas.
func Start(f *fleet.Fleet) *Sharing {
	s := &Sharing{fleet: f, upstreams: map[string]*upstream{}, tables: map[string]*limits{}}
	s.breakers = fleet.NewMap(f, "breakers", fleet.Options[json.RawMessage]{MaxTTL: lasts, OfOne: 1280, OfAll: 32 << 10, Changed: s.heardBreaker})
	s.limits = fleet.NewMap(f, "limits", fleet.Options[json.RawMessage]{MaxTTL: limitsLast, OfOne: 1024, OfAll: 16 << 10, Outlives: true, Changed: s.heardLimits})
	f.OnBeat(s.beat)
	return s
}

// Close ends the sharing. The breakers continue as they are, each by itself.
func (s *Sharing) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.upstreams)
	clear(s.tables)
}

// Join joins the breaker of an upstream with those of the same one in the other replicas. It replaces the one that
// has joined before. The returned function ends it, once no call waits for the upstream any more.
func (s *Sharing) Join(name string, b *breaker.Breaker) (leave func()) {
	u := &upstream{sharing: s, name: name, breaker: b}
	b.Join(u)
	s.mu.Lock()
	before := s.upstreams[name]
	s.upstreams[name] = u
	s.mu.Unlock()
	if before != nil && before.breaker != b {
		before.breaker.Leave()
	}
	return func() {
		u.left.Store(true)
		s.release(u)
	}
}

// release ends the sharing of a breaker whose upstream has left, unless calls still wait there: they continue together.
func (s *Sharing) release(u *upstream) {
	if !u.left.Load() || u.breaker.Waits() {
		return
	}
	s.mu.Lock()
	if s.upstreams[u.name] == u {
		delete(s.upstreams, u.name)
	}
	s.mu.Unlock()
	u.breaker.Leave()
}

// beat has the breakers put again what is to be believed.
func (s *Sharing) beat() {
	s.mu.Lock()
	all := slices.SortedFunc(maps.Values(s.upstreams), func(a, b *upstream) int { return strings.Compare(a.name, b.name) })
	s.mu.Unlock()
	for _, u := range all {
		s.release(u)
		u.breaker.Refresh()
	}
}

// heardBreaker takes in what the breaker of another replica has put.
func (s *Sharing) heardBreaker(e fleet.Entry[json.RawMessage]) {
	name, key, _ := strings.Cut(e.Key, "\t")
	s.mu.Lock()
	u := s.upstreams[name]
	s.mu.Unlock()
	if u != nil {
		u.breaker.Hear(e.Owner, key, e.Value, s.fleet.Clock.Now().Sub(e.At))
	}
}

// upstream is the breaker of one. It implements breaker.Fleet.
type upstream struct {
	sharing *Sharing
	name    string
	breaker *breaker.Breaker
	left    atomic.Bool // its upstream: it is shared as long as calls wait there
}

// Put implements breaker.Fleet.
func (u *upstream) Put(key string, value []byte) {
	if key = u.name + "\t" + key; value == nil {
		u.sharing.breakers.Delete(key)
	} else {
		u.sharing.breakers.Put(key, value, lasts)
	}
}

// ID implements breaker.Fleet.
func (u *upstream) ID() string { return u.sharing.fleet.ID }

// Others implements breaker.Fleet.
func (u *upstream) Others() int { return u.sharing.fleet.Number() - 1 }
