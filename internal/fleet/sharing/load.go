package sharing

import (
	"slices"

	"github.com/ridethrough/ridethrough/breaker"
)

// wireLoad is a breaker.Load in a sign of life.
type wireLoad struct {
	Usual   float64 `json:"usual,omitzero"`
	Peak    float64 `json:"peak,omitzero"`
	Retries float64 `json:"retries,omitzero"`
}

// mostLoad bounds what a load may tell, in calls.
const mostLoad = 1e6

func (w wireLoad) load() breaker.Load {
	within := func(x float64) float64 { return min(max(x, 0), mostLoad) }
	return breaker.Load{Usual: within(w.Usual), Peak: within(w.Peak), Retries: within(w.Retries)}
}

// loads returns what passes through the breakers here, by their upstreams, for a sign of life.
func (s *Sharing) loads() map[string]wireLoad {
	told := map[string]wireLoad{}
	for _, p := range s.all() {
		l := p.breaker.Load()
		p.setOwn(l)
		if l != (breaker.Load{}) {
			told[p.upstream] = wireLoad(l)
		}
	}
	return told
}

// heardLoads notes what passes through the breakers of another replica.
func (s *Sharing) heardLoads(from string, told map[string]wireLoad) {
	for _, p := range s.all() {
		p.setLoad(from, told[p.upstream].load())
	}
}

// idle is the load of a replica without calls: one a second has nearly all of what ten have in common.
const idle = 0.1

// demand is by what replicas divide what they have in common.
func demand(l breaker.Load) float64 { return l.Usual + l.Retries + idle }

// setOwn notes the load that the others are told, by which they divide too.
func (p *peers) setOwn(l breaker.Load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own = l
	p.divide()
}

func (p *peers) setLoad(from string, l breaker.Load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loads[from] = l
	p.divide()
}

// divide sums up the loads of the replicas that live. mu is held.
func (p *peers) divide() {
	p.others = breaker.Load{}
	all := demand(p.own)
	for _, id := range p.members {
		if id == p.fleet.ID {
			continue
		}
		l := p.loads[id]
		p.others.Usual += l.Usual
		p.others.Peak += l.Peak
		p.others.Retries += l.Retries
		all += demand(l)
	}
	p.part = demand(p.own) / all
	for id := range p.loads {
		if !slices.Contains(p.members, id) {
			delete(p.loads, id)
		}
	}
}

// Part implements breaker.Peers.
func (p *peers) Part() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.part
}

// Others implements breaker.Peers.
func (p *peers) Others() breaker.Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.others
}
