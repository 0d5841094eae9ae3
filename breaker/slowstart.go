package breaker

import (
	"cmp"
	"context"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

const (
	startInterval = 25 * time.Millisecond // between two batches of calls that wait at the breaker
	batchInterval = time.Second           // between two batches of [Breaker.SlowStart]
	crest         = 1.9                   // times the usual rate: with what comes by chance, and past the slow start, it is about twice
)

// SlowStart starts work that waits for the upstream elsewhere, such as jobs in a
// store. It calls start with 1, 2, 4, 8 …, a second apart, until start returns
// less than it was asked for, another fault of the upstream is reported, or ctx
// ends. A second call at the same time returns at once.
func (b *Breaker) SlowStart(ctx context.Context, start func(n int) (started int)) {
	if !b.beginBatches() {
		return
	}
	defer b.endBatches()
	for n := 1; start(n) == n; n *= 2 {
		if _, err := clock.Or(b.Clock).SleepOrWake(ctx, batchInterval, nil); err != nil || b.batchesFaulted() {
			return
		}
	}
}

// beginBatches reports whether a SlowStart may begin: no other is in progress.
func (b *Breaker) beginBatches() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.batches {
		return false
	}
	b.batches, b.faulted = true, false
	return true
}

func (b *Breaker) endBatches() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batches = false
}

// batchesFaulted reports whether a fault of the upstream has ended the SlowStart.
func (b *Breaker) batchesFaulted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faulted
}

// slowStart is how fast a circuit that has closed lets calls go.
type slowStart struct {
	on      bool
	batch   float64 // calls in the next interval: 1, 2, 4, 8 …
	slowed  bool    // a fault has ended its growth
	credit  float64 // calls that may go now
	entered int     // calls that have been in it
	waited  int     // of these, what has waited for it
	share   float64 // this breaker's share of the calls that wait in the fleet
	at      time.Time
}

// release sends calls into the slow start of a circuit, in order. A call that
// another outage concerns waits for that one.
func (b *Breaker) release(free []*Caller, k key, now time.Time) {
	if len(free) == 0 {
		return
	}
	ci := b.circuit(k, now)
	if !ci.slowStart.on {
		ci.startShare = ci.share(len(free))
	}
	for _, c := range free {
		if b.outage(c) == nil {
			ci.enqueue(c)
		} else {
			b.admit(c, now, false)
		}
	}
	if ci.slowStart.on {
		ci.slowStart.waited = ci.slowStart.entered
		ci.advance(now)
	} else {
		ci.forget()
	}
}

// enqueue puts a call at the end of the slow start, which begins with it.
func (ci *circuit) enqueue(c *Caller) {
	if !ci.slowStart.on {
		ci.breaker.degraded++
		ci.slowStart = slowStart{on: true, batch: 1, share: cmp.Or(ci.startShare, 1)}
	}
	ci.slowStart.entered++
	c.move(&ci.starting)
}

// startBatch admits the calls of this interval.
func (ci *circuit) startBatch(now time.Time) {
	p := &ci.slowStart
	if !p.at.IsZero() && now.Sub(p.at) < startInterval {
		return
	}
	p.at = now
	p.credit += ci.batch()
	if !p.slowed || ci.recent.failsInPart() {
		p.batch *= 2
	}
	n := min(int(p.credit+1e-6), ci.starting.n) // a sum of fractions
	p.credit -= float64(n)
	for range n {
		c := ci.starting.head
		c.dequeue()
		ci.breaker.admit(c, now, true)
	}
}

// batch returns the calls of this interval. The first is one at once. After a
// fault it is as much as comes usually.
func (ci *circuit) batch() float64 {
	p, most := &ci.slowStart, ci.maxBatch()
	if p.batch == 1 && !p.slowed {
		return 1
	}
	least := max(p.within20s(), ci.breaker.traffic.usual()) * startInterval.Seconds()
	return min(max(p.batch*p.share, least), most)
}

// maxBatch returns the most calls of an interval: nearly twice the usual rate, but at
// least as many as probes in a young outage, and all that have waited within
// twenty seconds. A small number does not go all at once. Where several breakers are joined, each releases what comes
// there, and of the rest its share, so that all end at the same time.
func (ci *circuit) maxBatch() float64 {
	share := ci.slowStart.share
	n := float64(ci.slowStart.entered) / share // in all of them
	own, all := ci.breaker.rates()
	rate := min(max(crest*all, ci.slowStart.within20s()/share, 1/minSpacing.Seconds()), 1.6*n)
	if rate > all {
		rate = own + share*(rate-all)
	} else {
		rate *= share
	}
	return rate * startInterval.Seconds()
}

// within20s returns the calls a second with which all that have waited go within twenty seconds, or as many that have
// come since.
func (p *slowStart) within20s() float64 { return float64(max(p.waited, p.entered-p.waited)) / 20 }

// slowDown halves the batches at a fault.
func (p *slowStart) slowDown() {
	p.batch = max(1, p.batch/2)
	p.slowed = true
}

// breakOffSlowStart ends a slow start that has run into the next outage. Calls
// that still sleep continue with that, the others share the fault.
func (ci *circuit) breakOffSlowStart(now time.Time) {
	for _, c := range ci.starting.drain() {
		if c.asleep {
			ci.sleeping.push(c)
		} else {
			c.share(ci.sharedFault(now))
		}
	}
	ci.endSlowStart()
}

func (ci *circuit) endSlowStart() {
	if ci.slowStart.on {
		ci.slowStart.on = false
		ci.breaker.degraded--
	}
}
