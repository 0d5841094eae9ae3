package breaker

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// setBound is how many gates a Set keeps.
const setBound = 1024

// Set gives each upstream its gate. The zero Set is ready. It may be used by
// many goroutines at the same time and must not be copied.
type Set struct {
	mu    sync.Mutex
	gates map[string]*Breaker
}

// Of gives the gate of an upstream, such as a base URL. Of very many, those
// that have nothing to remember are forgotten; where all have, the newest is
// for its caller alone.
func (s *Set) Of(upstream string) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.gates[upstream]; g != nil {
		return g
	}
	if s.gates == nil {
		s.gates = map[string]*Breaker{}
	}
	if len(s.gates) >= setBound {
		s.prune()
	}
	g := New(upstream)
	if len(s.gates) < setBound {
		s.gates[upstream] = g
	}
	return g
}

// States gives the state of each gate, in the order of their names.
func (s *Set) States() []State {
	s.mu.Lock()
	gates := slices.Collect(maps.Values(s.gates))
	s.mu.Unlock()
	slices.SortFunc(gates, func(a, b *Breaker) int { return strings.Compare(a.name, b.name) })
	all := make([]State, len(gates))
	for i, g := range gates {
		all[i] = g.State()
	}
	return all
}

// prune forgets the gates that have nothing to remember. A call that has one of
// them goes on with it, alone.
func (s *Set) prune() {
	for name, g := range s.gates {
		if g.clean() {
			delete(s.gates, name)
		}
	}
}

// clean tells whether the gate has nothing to remember but its statistics.
func (g *Breaker) clean() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calm() && g.held.n+g.short.n+g.asleep.n == 0
}
