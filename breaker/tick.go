package breaker

import "time"

// tick does what is due in the scope: a step of its ramp, the next probe, a
// scout. It then sets the timer for what comes next.
func (s *scope) tick(now time.Time) {
	if s.pace.on {
		if s.gate.paused.IsZero() {
			s.step(now)
		}
		if s.ramp.n == 0 {
			s.pace.on = false
			s.gate.troubled--
			s.tidy()
		}
	}
	if s.presumed(now) {
		s.gate.release(s.recover(now), s.key, now)
	}
	for s.open && s.queue.n > 0 && s.mayProbe(now) && !s.due(now).After(now) {
		c := s.queue.head
		c.unlist()
		s.gate.admit(c, now, false)
	}
	if s.open && s.mayProbe(now) && s.queue.n == 0 {
		if at := s.scouting(now); !at.IsZero() && !at.After(now) {
			s.scout(now)
		}
	}
	if at := s.straying(); !at.IsZero() && !at.After(now) {
		s.stray(now)
	}
	s.arm(now)
}

// presumed tells whether the call that has gone at the end of a stated wait can
// be taken for answered: what is still too much is refused at once, an answer
// takes its time, and nobody has to wait for it.
func (s *scope) presumed(now time.Time) bool {
	return s.stated() && s.probe != nil && now.Sub(s.probed) >= refusalLimit
}

// stated tells whether the outage was opened, or goes on, by a stated wait.
func (s *scope) stated() bool { return s.open && !s.until.IsZero() }

// mayProbe tells whether nothing but the time between probes is in the way.
func (s *scope) mayProbe(now time.Time) bool {
	return s.gate.paused.IsZero() && !s.probing(now) && !now.Round(0).Before(s.until)
}

// scouting gives the moment at which a waiter is sent before its time: never
// more often than the waiters' own schedules would send one on average, but
// evenly, since those run in step after an outage's first minutes. It is zero
// where their own schedules do.
func (s *scope) scouting(now time.Time) time.Time {
	n := time.Duration(s.sleepers.n)
	switch {
	case s.hurry && n > 0:
		return now
	case n < 2:
		return time.Time{}
	}
	last := s.probed
	if s.looked.After(last) {
		last = s.looked
	}
	return last.Add(max(s.spacing(), s.sleepers.sum/n/n))
}

// candidates is how many sleepers are looked at for a scout.
const candidates = 8

// scout sends the waiter who has not been sent for longest, if nothing else
// keeps it.
func (s *scope) scout(now time.Time) {
	for range min(candidates, s.sleepers.n) {
		c := s.sleepers.head
		if c.kept || !s.gate.passable(c, now) {
			c.move(&s.sleepers)
			continue
		}
		c.unlist()
		c.scout = true
		s.gate.let(c, now)
		return
	}
	s.looked, s.hurry = now, false
}

// passable tells whether the call could be the probe of all its outages.
func (g *Breaker) passable(c *Caller, now time.Time) bool {
	for _, s := range g.of(c) {
		if s != nil && s.open && (!s.mayProbe(now) || s.due(now).After(now)) {
			return false
		}
	}
	return true
}

// arm sets the timer for what comes next in the scope, if anything does.
func (s *scope) arm(now time.Time) {
	next := s.coming(now)
	if next.IsZero() {
		s.disarm()
		return
	}
	if next.Equal(s.next) {
		return
	}
	s.next = next
	if d := max(next.Sub(now), 0); s.timer == nil {
		s.timer = s.gate.afterFunc(d, s.fire)
	} else {
		s.timer.Reset(d)
	}
}

// coming gives the moment of what comes next; zero: nothing does.
func (s *scope) coming(now time.Time) time.Time {
	switch {
	case !s.gate.paused.IsZero():
		return time.Time{}
	case s.pace.on:
		return s.pace.at.Add(interval)
	case s.stated() && s.probe != nil:
		return s.probed.Add(refusalLimit)
	case !s.open:
		return s.straying()
	case s.queue.n+s.sleepers.n == 0:
		return time.Time{}
	case now.Round(0).Before(s.until):
		return now.Add(s.until.Sub(now.Round(0)))
	case s.probing(now):
		return s.probed.Add(probeLimit)
	case s.queue.n > 0:
		return s.due(now)
	}
	return s.scouting(now)
}

func (s *scope) disarm() {
	s.next = time.Time{}
	if s.timer != nil {
		s.timer.Stop()
	}
}

// fire is the timer's.
func (s *scope) fire() {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); !s.next.IsZero() && !s.next.After(now) {
		s.next = time.Time{}
		s.tick(now)
	}
}
