package breaker

import "time"

// admit decides about a call that wants to go: it is let through, shares a
// failure, or stands in a list from then on. ramped is a call that comes out
// of a ramp.
func (g *Breaker) admit(c *Caller, now time.Time, ramped bool) {
	switch {
	case !g.paused.IsZero() || c.kept:
		g.held.why = Paused
		g.held.push(c)
		return
	case c.forced:
		g.let(c, now)
		return
	}
	scopes := g.of(c)
	open := false
	for _, s := range scopes {
		if s == nil || !s.open {
			continue
		}
		if c.asleep {
			s.sleepers.push(c)
			s.arm(now)
			return
		}
		if open = true; !s.admits(c, now) {
			return
		}
	}
	if open || ramped {
		g.let(c, now)
		return
	}
	for _, s := range scopes {
		if s != nil && s.pace.on {
			s.join(c)
			s.tick(now)
			return
		}
	}
	g.ration(c, now)
}

// admits tells whether the call may be the probe. If not, it has been told the
// fault, or waits for what the probe learns.
func (s *scope) admits(c *Caller, now time.Time) bool {
	switch {
	case now.Round(0).Before(s.until):
		c.share(s.said(now))
	case c.FewRetries && c.tries == 0 && c.last == nil:
		return true // it has not many tries: its first is its own
	case s.probing(now):
		s.queue.push(c)
		s.arm(now)
	case !s.due(now).After(now):
		return true
	case s.failed:
		c.share(s.said(now))
	default:
		s.queue.push(c)
		s.arm(now)
	}
	return false
}

// let lets a call through. In an outage it is the probe, unless another is.
func (g *Breaker) let(c *Caller, now time.Time) {
	c.granted, c.forced = true, false
	for _, s := range g.of(c) {
		if s != nil && s.open && !s.probing(now) {
			c.probes = true
			s.probe, s.probed, s.failed = c, now, false
			s.hurry, s.ready = false, false
			s.arm(now)
		}
	}
	c.rouse()
}

// ration lets a call go if it is a first try or there is a token for it.
func (g *Breaker) ration(c *Caller, now time.Time) {
	if c.tries == 0 || g.short.n == 0 && g.tokens.take(now) {
		c.granted = true // as let does, but there is nothing to probe
		c.rouse()
		return
	}
	g.short.why = NoRetryToken
	g.short.push(c)
	g.feed(now)
}

// feed lets retries go for which there is a token, and sets the timer for the
// next one.
func (g *Breaker) feed(now time.Time) {
	for g.short.n > 0 && g.paused.IsZero() && g.tokens.take(now) {
		c := g.short.head
		c.unlist()
		g.let(c, now)
	}
	switch {
	case g.short.n == 0 || !g.paused.IsZero():
		if g.token != nil {
			g.token.Stop()
		}
	case g.token == nil:
		g.token = g.afterFunc(g.tokens.next(), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.feed(g.now())
		})
	default:
		g.token.Reset(g.tokens.next())
	}
}
