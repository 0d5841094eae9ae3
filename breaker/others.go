package breaker

import (
	"maps"
	"time"
)

// loadKey is the key of a load. Those of circuits are their names.
const loadKey = "load"

// load is what passes through a breaker.
type load struct {
	Usual   float64 // calls a second, outside of outages
	Peak    float64 // calls in the busiest second of the outage that is on; 0: there is none
	Retries float64 // calls that wait for a retry token
}

// idle is the load of a breaker without calls: one with a call a second has nearly all of what ten have in common.
const idle = 0.1

// demand is by what breakers divide what they have in common.
func (l load) demand() float64 { return l.Usual + l.Retries + idle }

// within returns a load within what can be meant.
func (l load) within() load {
	const most = 1e6
	return load{min(max(l.Usual, 0), most), min(max(l.Peak, 0), most), min(max(l.Retries, 0), most)}
}

// measure returns what passes through the breaker, to be told to the others.
func (b *Breaker) measure(now time.Time) load {
	if b.traffic.at != 0 {
		b.traffic.roll(now, b.degraded > 0)
	}
	l := load{Usual: b.traffic.usual(), Retries: float64(b.noToken.n)}
	if b.degraded > 0 {
		l.Peak = b.traffic.peak
	}
	b.load = l
	return l
}

// rates returns how many calls come in a second, here and at all breakers together: usually, or in the busiest second
// of the outage.
func (b *Breaker) rates() (own, all float64) {
	t := &b.traffic
	if b.fleet == nil {
		own = max(t.usual(), t.peak)
		return own, own
	}
	others := b.loads()
	if usual, peak := t.usual()+others.Usual, t.peak+others.Peak; usual < peak {
		return t.peak, peak
	}
	return t.usual(), t.usual() + others.Usual
}

// other is what another process has said, each with the time.
type other struct {
	load   load
	loadAt time.Time
	waits  map[key]waits
}

// waits are the calls that wait in a circuit elsewhere.
type waits struct {
	n  int
	at time.Time
}

// other returns what a process has said; nil: there are too many.
func (b *Breaker) other(id string) *other {
	o := b.others[id]
	if o == nil && len(b.others) < maxOthers {
		if b.others == nil {
			b.others = map[string]*other{}
		}
		o = &other{waits: map[key]waits{}}
		b.others[id] = o
	}
	return o
}

// noteWaits notes how many calls wait in a circuit at another process.
func (b *Breaker) noteWaits(from string, k key, w waits) {
	o := b.other(from)
	switch {
	case o == nil:
	case w.n == 0:
		delete(o.waits, k)
	case o.waits[k].n > 0 || len(o.waits) < maxCircuits:
		o.waits[k] = w
	}
}

// forget forgets what another process has said by the key of a circuit, and no longer waits for its probe.
func (b *Breaker) forget(from, name string, now time.Time) {
	if o := b.others[from]; o != nil {
		maps.DeleteFunc(o.waits, func(k key, _ waits) bool { return k.name().key() == name })
	}
	for _, ci := range b.all() {
		if ci.name().key() == name {
			ci.endOthersProbe(from, now)
		}
	}
}

// forgetOthers forgets what is not believed any more.
func (b *Breaker) forgetOthers(now time.Time) {
	for id, o := range b.others {
		maps.DeleteFunc(o.waits, func(_ key, w waits) bool { return now.Sub(w.at) > believed })
		if len(o.waits) == 0 && now.Sub(o.loadAt) > believed {
			delete(b.others, id)
		}
	}
}

// loads returns what passes through all others together.
func (b *Breaker) loads() (all load) {
	now := b.now()
	for _, o := range b.others {
		if now.Sub(o.loadAt) <= believed {
			all.Usual += o.load.Usual
			all.Peak += o.load.Peak
			all.Retries += o.load.Retries
		}
	}
	return all
}

// place returns the place of this breaker, from 0, among those that have calls waiting in a circuit, and how many calls
// wait in the others.
func (b *Breaker) place(k key) (index, of, waiting int) {
	of = 1
	now, own := b.now(), b.fleet.ID()
	for id, o := range b.others {
		w := o.waits[k]
		if w.n == 0 || now.Sub(w.at) > believed {
			continue
		}
		of++
		waiting += w.n
		if id < own {
			index++
		}
	}
	return index, of, waiting
}

// turn is by how much a probe from here is later than one of the breaker whose turn it is. After each probe the order in
// which they probe is another.
func (ci *circuit) turn() time.Duration {
	if ci.breaker.fleet == nil {
		return 0
	}
	index, of, _ := ci.breaker.place(ci.key)
	return turnTime * time.Duration(((index-ci.failedProbes)%of+of)%of)
}

// share returns this breaker's share of all calls that wait in the circuit, of which waiting wait here.
func (ci *circuit) share(waiting int) float64 {
	if ci.breaker.fleet == nil || waiting == 0 {
		return 1
	}
	_, _, others := ci.breaker.place(ci.key)
	return float64(waiting) / float64(waiting+others)
}

// part is this breaker's part of what all of them may do, by the load that the others know too.
func (b *Breaker) part() float64 {
	if b.fleet == nil {
		return 1
	}
	all, own := b.loads(), b.load.demand()
	return own / (own + all.Usual + all.Retries + float64(b.fleet.Others())*idle)
}
