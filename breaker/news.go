package breaker

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// leave takes in the outcome of a call's try.
func (g *Breaker) leave(c *Caller, f *fault.Error, now time.Time) {
	if !c.inside {
		return
	}
	c.inside = false
	g.traffic.roll(now, g.troubled > 0)
	if c.tries++; c.tries == 1 {
		g.tokens.give()
		if g.short.n > 0 {
			g.feed(now)
		}
	}
	switch {
	case f == nil:
		g.success = now
		if len(g.scopes) > 0 {
			g.succeeded(c, now)
		}
	default:
		bare := *f
		bare.Err = nil // it may hold something open, or much
		c.last = &bare
		g.faulted(c, &bare, now)
	}
	g.unprobe(c, now)
}

// unprobe takes from the call that it is a probe. Where it has brought no news
// the next one may go.
func (g *Breaker) unprobe(c *Caller, now time.Time) {
	if !c.probes {
		return
	}
	c.probes = false
	for _, s := range g.of(c) {
		if s != nil && s.probe == c {
			s.probe = nil
			s.tick(now)
			s.tidy()
		}
	}
}

// succeeded ends the outages of everything that the call was about.
func (g *Breaker) succeeded(c *Caller, now time.Time) {
	var free []*Caller
	widest := key{level: levels}
	for _, s := range g.of(c) {
		if s == nil || s.open && !s.until.IsZero() && c.entered < s.epoch {
			continue // an answer to a call from before the upstream asked for quiet
		}
		if s.open && s.level < widest.level {
			widest = s.key
		}
		if c.resting {
			s.lag /= 2
		}
		free = append(free, s.recover(now)...)
	}
	g.release(free, widest, now)
}

// recover ends the scope's outage and gives who waits for that.
func (s *scope) recover(now time.Time) (free []*Caller) {
	s.run, s.used, s.answered = 0, now, now
	if s.open {
		s.shut()
		free = append(s.queue.drain(), s.sleepers.drain()...)
	}
	if s.sleepers.n > 0 {
		s.arm(now)
	}
	s.tidy()
	return free
}

// faulted counts a fault in the scope that it is about.
func (g *Breaker) faulted(c *Caller, f *fault.Error, now time.Time) {
	if s := g.scopes[key{}]; s != nil && reached.Has(f.Kind) {
		g.release(s.recover(now), key{}, now)
	}
	l := about(f.Kind)
	if l == nothing {
		return
	}
	for _, s := range g.of(c) {
		if s != nil {
			s.pace.falter()
		}
	}
	s := g.scope(c.key(l), now)
	s.count(f, now)
	hint := f.RetryAfter(now)
	closed := l == credential && hint > 0
	if closed {
		s.close(hint, now)
	}
	if c.resting && !s.open {
		s.lag = min(2*s.apart(), latest)
	}
	if !s.open && (c.FewRetries || s.run >= enough) {
		s.start(now)
	}
	if s.open && (closed || s.probe == c || s.probe == nil) {
		s.tell(c, now)
	}
}

// count counts a fault in.
func (s *scope) count(f *fault.Error, now time.Time) {
	if s.run == 0 {
		s.since = now
	}
	s.run++
	s.used = now
	s.fault, s.reset = f, time.Time{}
	if hint := f.RetryAfter(now); hint > 0 {
		s.reset = now.Add(hint).Round(0)
	}
}

// close keeps everybody away for as long as the upstream asks, but for no
// longer than closureBound: then one call asks again.
func (s *scope) close(hint time.Duration, now time.Time) {
	if until := now.Add(min(hint, closureBound)).Round(0); until.After(s.until) {
		s.until = until
	}
	if !s.open {
		s.start(now)
	}
	s.gate.epoch++
	s.epoch, s.ready = s.gate.epoch, true
}

// tell shares a probe's failure with those who wait for its outcome.
func (s *scope) tell(c *Caller, now time.Time) {
	if s.probe == c {
		s.probe = nil
		s.probes++
	}
	s.failed = true
	for _, w := range s.queue.drain() {
		w.share(s.said(now))
	}
	s.tick(now)
}
