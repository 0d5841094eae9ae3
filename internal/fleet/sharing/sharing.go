// Package sharing has the circuit breakers of a fleet's replicas act as one: it carries their news by the fleet's
// messages, and knows where calls wait. Nothing is sent while no circuit is open, and nothing is asked before a call
// goes.
package sharing

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/fleet"
)

const (
	kind       = "outages"       // of the messages
	interval   = 2 * time.Second // between two messages about circuits that stay open
	outdated   = 3 * interval    // so old a count of waiting calls no longer counts
	maxReports = 4096            // that are kept
)

// Sharing is a replica's part. Its methods may be called concurrently.
type Sharing struct {
	fleet *fleet.Fleet

	mu        sync.Mutex
	upstreams map[string]*peers
	limits    map[string]*limits
	members   []string // when it was looked at last
	timer     clock.Timer
	closed    bool
}

// Start has the breakers that Join share their state with those of the other replicas.
func Start(f *fleet.Fleet) *Sharing {
	s := &Sharing{fleet: f, upstreams: map[string]*peers{}, limits: map[string]*limits{}}
	fleet.On(f, kind, s.receive)
	fleet.On(f, limitsKind, s.receiveLimits)
	fleet.OnBeat(f, s.loads, s.heardLoads)
	f.OnChange(s.update)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = f.Clock.AfterFunc(interval, s.repeat)
	return s
}

// Close ends the sharing. The breakers go on as they are, each by itself.
func (s *Sharing) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.timer.Stop()
}

// Join joins the breaker of an upstream with those of the same one in the other replicas. It replaces the one that
// has joined before. The returned function ends it, once no call waits for the upstream any more.
func (s *Sharing) Join(upstream string, b *breaker.Breaker) (leave func()) {
	p := &peers{
		fleet: s.fleet, upstream: upstream, breaker: b, members: s.fleet.Members(),
		loads: map[string]breaker.Load{}, reports: map[report]waits{}, order: map[breaker.Circuit]place{},
	}
	p.divide()
	b.Join(p)
	s.mu.Lock()
	before := s.upstreams[upstream]
	s.upstreams[upstream] = p
	s.mu.Unlock()
	if before != nil && before.breaker != b {
		before.breaker.Leave()
	}
	return func() {
		p.left.Store(true)
		s.release(p)
	}
}

// release ends the sharing of a breaker whose upstream has left, unless calls still wait there: they go on together.
func (s *Sharing) release(p *peers) {
	if !p.left.Load() || p.breaker.Waits() {
		return
	}
	s.mu.Lock()
	if s.upstreams[p.upstream] == p {
		delete(s.upstreams, p.upstream)
	}
	s.mu.Unlock()
	p.breaker.Leave()
}

// all returns the upstreams.
func (s *Sharing) all() (all []*peers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.upstreams {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *peers) int { return strings.Compare(a.upstream, b.upstream) })
	return all
}

// receive takes in the news of another replica.
func (s *Sharing) receive(from string, m message) {
	s.mu.Lock()
	p := s.upstreams[m.Upstream]
	if s.closed {
		p = nil
	}
	s.mu.Unlock()
	if p == nil {
		return
	}
	now := s.fleet.Clock.Now()
	for _, w := range m.News[:min(len(m.News), mostNews)] {
		n := w.news(now)
		p.note(from, n, now)
		p.breaker.Hear(from, n)
	}
}

// mostNews is how many news of a message are read.
const mostNews = 64

// update notes which replicas live.
func (s *Sharing) update() {
	members := s.fleet.Members()
	s.mu.Lock()
	var left []string
	for _, id := range s.members {
		if !slices.Contains(members, id) {
			left = append(left, id)
		}
	}
	s.members = members
	s.mu.Unlock()
	now := s.fleet.Clock.Now()
	for _, p := range s.all() {
		p.review(members, now)
		for _, id := range left {
			p.breaker.PeerGone(id)
		}
	}
}

// repeat tells of the circuits that are open, for replicas that have missed it.
func (s *Sharing) repeat() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.timer.Reset(time.Duration((0.9 + 0.2*s.fleet.Rand()) * float64(interval)))
	members := s.members
	s.mu.Unlock()
	now := s.fleet.Clock.Now()
	for _, p := range s.all() {
		s.release(p)
		p.review(members, now)
		if !p.breaker.Degraded() {
			continue
		}
		if known := p.breaker.Known(); len(known) > 0 {
			p.send(known)
		}
	}
}

// peers are the breakers of one upstream. It implements breaker.Peers.
type peers struct {
	fleet    *fleet.Fleet
	upstream string
	breaker  *breaker.Breaker
	left     atomic.Bool // its upstream: it is shared as long as calls wait there

	mu      sync.Mutex
	members []string                // the replicas that live
	own     breaker.Load            // as the others were told
	loads   map[string]breaker.Load // of the others
	others  breaker.Load            // their sum
	part    float64                 // of what all have in common
	reports map[report]waits
	order   map[breaker.Circuit]place
}

// report is what one of the others says of a circuit.
type report struct {
	circuit breaker.Circuit
	from    string
}

// waits is how many calls wait, and when that was heard.
type waits struct {
	n  int
	at time.Time
}

// place is that of this replica in the order of those that have calls waiting in a circuit.
type place struct {
	index, of int
	waiting   int // in the others
}

// Tell implements breaker.Peers. Without a connection there is no one to tell.
func (p *peers) Tell(n breaker.News) { p.send([]breaker.News{n}) }

func (p *peers) send(all []breaker.News) {
	now := p.fleet.Clock.Now()
	m := message{Upstream: p.upstream, News: make([]wireNews, len(all))}
	for i, n := range all {
		m.News[i] = wire(n, now)
	}
	_ = p.fleet.Send(kind, m)
}

// Turn implements breaker.Peers.
func (p *peers) Turn(c breaker.Circuit, probes int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.order[c]
	if at.of < 2 {
		return 0
	}
	return ((at.index-probes)%at.of + at.of) % at.of
}

// Share implements breaker.Peers.
func (p *peers) Share(c breaker.Circuit, waiting int) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return float64(waiting) / float64(waiting+p.order[c].waiting)
}

// note notes how many calls wait in a circuit of another replica.
func (p *peers) note(from string, n breaker.News, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := report{n.Circuit, from}
	_, known := p.reports[r]
	if !known && len(p.reports) >= maxReports {
		return
	}
	p.reports[r] = waits{n.Waiting, now}
	p.arrange(n.Circuit)
}

// review forgets what is outdated, and what replicas have said that no longer live.
func (p *peers) review(members []string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = members
	p.divide()
	for r, w := range p.reports {
		if now.Sub(w.at) > outdated || !slices.Contains(members, r.from) {
			delete(p.reports, r)
			p.arrange(r.circuit)
		}
	}
}

// arrange sets the place of this replica at a circuit. mu is held.
func (p *peers) arrange(c breaker.Circuit) {
	at := place{of: 1}
	for r, w := range p.reports {
		if r.circuit != c || w.n == 0 {
			continue
		}
		at.of++
		at.waiting += w.n
		if r.from < p.fleet.ID {
			at.index++
		}
	}
	if at.of == 1 {
		delete(p.order, c)
		return
	}
	p.order[c] = at
}
