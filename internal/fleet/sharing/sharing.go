// Package sharing has the circuit breakers of a fleet's replicas act as one, and the limits of their upstreams be one:
// what each knows is in maps of the fleet. Nothing is put while no circuit is open and no limit near, and nothing is
// asked before a call goes.
package sharing

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/fleet"
)

// lasts is how long circuits and loads are believed. They are put again with each sign of life.
const lasts = 6 * time.Second

// Sharing is a replica's part. Its methods may be called concurrently.
type Sharing struct {
	fleet    *fleet.Fleet
	circuits *fleet.Map[circuit]
	loads    *fleet.Map[breaker.Load] // by upstream
	limits   *fleet.Map[headroom]

	mu        sync.Mutex
	upstreams map[string]*upstream
	tables    map[string]*limits
}

// Start has the breakers that Join share their state with those of the other replicas.
func Start(f *fleet.Fleet) *Sharing {
	s := &Sharing{fleet: f, upstreams: map[string]*upstream{}, tables: map[string]*limits{}}
	s.circuits = fleet.NewMap(f, "circuits", fleet.Options[circuit]{MaxTTL: lasts, OfOne: 1024, OfAll: 16 << 10, Changed: s.heardCircuit})
	s.loads = fleet.NewMap(f, "loads", fleet.Options[breaker.Load]{MaxTTL: lasts, OfOne: 256, OfAll: 16 << 10})
	s.limits = fleet.NewMap(f, "limits", fleet.Options[headroom]{MaxTTL: limitsLast, OfOne: 1024, OfAll: 16 << 10, Outlives: true, Changed: s.heardLimits})
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

// beat puts what passes through the breakers here, and which circuits are open.
func (s *Sharing) beat() {
	s.mu.Lock()
	all := slices.SortedFunc(maps.Values(s.upstreams), func(a, b *upstream) int { return strings.Compare(a.name, b.name) })
	s.mu.Unlock()
	for _, u := range all {
		s.release(u)
		if l := u.breaker.Load(); l != (breaker.Load{}) {
			s.loads.Put(u.name, l, lasts)
		} else {
			s.loads.Delete(u.name)
		}
		if u.breaker.Degraded() {
			for _, n := range u.breaker.Known() {
				u.Tell(n)
			}
		}
	}
}

// heardCircuit takes in the news of another replica.
func (s *Sharing) heardCircuit(e fleet.Entry[circuit]) {
	s.mu.Lock()
	u := s.upstreams[e.Value.Upstream]
	s.mu.Unlock()
	if u == nil {
		return
	}
	n := e.Value.news(e.At, s.fleet.Clock.Now())
	if e.Gone {
		n = breaker.News{Circuit: n.Circuit}
	}
	u.breaker.Hear(e.Owner, n)
}

// upstream is the breaker of one. It implements breaker.Fleet.
type upstream struct {
	sharing *Sharing
	name    string
	breaker *breaker.Breaker
	left    atomic.Bool // its upstream: it is shared as long as calls wait there
}

// key names something of an upstream.
func key(upstream string, of ...string) string { return upstream + "\t" + strings.Join(of, "\t") }

func circuitKey(upstream string, c breaker.Circuit) string {
	return key(upstream, c.Level, c.Model, c.Credential)
}

// Tell implements breaker.Fleet.
func (u *upstream) Tell(n breaker.News) {
	u.sharing.circuits.Put(circuitKey(u.name, n.Circuit), circuit{u.name, n}, lasts)
}

// Place implements breaker.Fleet.
func (u *upstream) Place(c breaker.Circuit) (index, of, waiting int) {
	of = 1
	for e := range u.sharing.circuits.Others(circuitKey(u.name, c)) {
		n := e.Value.waiting()
		if n == 0 {
			continue
		}
		of++
		waiting += n
		if e.Owner < u.sharing.fleet.ID {
			index++
		}
	}
	return index, of, waiting
}

// Load implements breaker.Fleet.
func (u *upstream) Load() (all breaker.Load, others int) {
	for e := range u.sharing.loads.Others(u.name) {
		l := within(e.Value)
		all.Usual += l.Usual
		all.Peak += l.Peak
		all.Retries += l.Retries
	}
	return all, u.sharing.fleet.Number() - 1
}
