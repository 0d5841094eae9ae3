package breaker

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxBreakers is how many breakers a Set keeps.
const maxBreakers = 1024

// Set has a breaker for each upstream. The zero Set is ready. It may be used by
// many goroutines at the same time and must not be copied.
type Set struct {
	// Shared returns the breaker of an upstream that has other callers too, such as those of a gateway; nil: it has
	// none, or the function is nil. Set it before the first use.
	Shared func(upstream string) *Breaker

	mu       sync.Mutex
	breakers map[string]*Breaker
}

// Of returns the breaker of an upstream, such as a base URL. Of very many, those
// that have nothing to remember are dropped; where all have, the newest is for
// its caller alone.
func (s *Set) Of(upstream string) *Breaker {
	var shared *Breaker
	if s.Shared != nil {
		shared = s.Shared(upstream)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.breakers[upstream]; b != nil && (shared == nil || b == shared) {
		return b
	}
	if s.breakers == nil {
		s.breakers = map[string]*Breaker{}
	}
	if len(s.breakers) >= maxBreakers {
		s.prune()
	}
	b := cmp.Or(shared, New(upstream))
	if len(s.breakers) < maxBreakers {
		s.breakers[upstream] = b
	}
	return b
}

// States returns the state of each breaker, in the order of their names.
func (s *Set) States() []State {
	s.mu.Lock()
	breakers := slices.Collect(maps.Values(s.breakers))
	s.mu.Unlock()
	slices.SortFunc(breakers, func(x, y *Breaker) int { return strings.Compare(x.name, y.name) })
	all := make([]State, len(breakers))
	for i, b := range breakers {
		all[i] = b.State()
	}
	return all
}

// prune drops the breakers that have nothing to remember. A caller of one of them
// keeps it.
func (s *Set) prune() {
	for name, b := range s.breakers {
		if b.idle() {
			delete(s.breakers, name)
		}
	}
}

// idle reports whether the breaker has nothing to remember but its statistics.
func (b *Breaker) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ci := range b.circuits {
		if ci.faults > 0 { // as of each that is open
			return false
		}
	}
	return b.pausedAt.IsZero() && !b.batches && !b.queued()
}
