package breaker

import "time"

// interval is the step of a ramp.
const interval = 25 * time.Millisecond

// pace is how fast a ramp lets calls go.
type pace struct {
	on     bool
	batch  float64 // calls in the next interval: 1, 2, 4, 8 …
	frozen bool    // a fault has ended its growth
	credit float64 // calls that may go now
	joined int     // calls that have been in the ramp
	at     time.Time
}

// release sends calls on their way through the ramp of a scope, in order. One
// that another outage concerns waits for that one.
func (g *Breaker) release(free []*Caller, k key, now time.Time) {
	if len(free) == 0 {
		return
	}
	s := g.scope(k, now)
	for _, c := range free {
		if g.outage(c) == nil {
			s.join(c)
		} else {
			g.admit(c, now, false)
		}
	}
	if s.pace.on {
		s.tick(now)
	} else {
		s.tidy()
	}
}

// join puts a call at the end of the ramp, which begins with it.
func (s *scope) join(c *Caller) {
	if !s.pace.on {
		s.gate.troubled++
		s.pace = pace{on: true, batch: 1}
	}
	s.pace.joined++
	c.move(&s.ramp)
}

// most gives the calls that may go in one interval: twice the usual rate, but
// at least as many as probes in a young outage, and all of them within twenty
// seconds; a small number does not go in one blow.
func (s *scope) most() float64 {
	n, t := float64(s.pace.joined), &s.gate.traffic
	rate := min(max(2*max(t.usual(), t.peak), n/20, 1/soonest.Seconds()), 1.6*n)
	return rate * interval.Seconds()
}

// step lets go what the pace allows at this moment.
func (s *scope) step(now time.Time) {
	p := &s.pace
	if !p.at.IsZero() && now.Sub(p.at) < interval {
		return
	}
	p.at = now
	p.credit += s.share()
	if !p.frozen {
		p.batch *= 2
	}
	for p.credit > 1-1e-6 && s.ramp.n > 0 { // a sum of fractions
		p.credit--
		c := s.ramp.head
		c.unlist()
		s.gate.admit(c, now, true)
	}
}

// share gives the calls of this interval. The first is one at once; a ramp that
// a fault has slowed down keeps up with what comes usually.
func (s *scope) share() float64 {
	p, most := &s.pace, s.most()
	if p.joined > 0 && p.batch == 1 && !p.frozen {
		return 1
	}
	floor := max(float64(p.joined)/20, s.gate.traffic.usual()) * interval.Seconds()
	return min(max(p.batch, floor), most)
}

// falter slows the ramp down at a fault.
func (p *pace) falter() {
	p.batch = max(1, p.batch/2)
	p.frozen = true
}

// relapse ends a ramp that has run into the next outage: who still slept goes
// on with that, the others share the fault.
func (s *scope) relapse() {
	now := s.probed
	for _, c := range s.ramp.drain() {
		if c.asleep {
			s.sleepers.push(c)
		} else {
			c.share(s.said(now))
		}
	}
	if s.pace.on {
		s.pace.on = false
		s.gate.troubled--
	}
}
