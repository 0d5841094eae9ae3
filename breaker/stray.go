package breaker

import "time"

// A straggler is a call that has a long way to its next try although its
// upstream answers others: it has met one of the refusals of an upstream that
// is back with less than it had, too few to be an outage. It is sent before its
// time as a scout, and as such has nothing to lose.
const (
	strayAfter = latest     // it has slept so long before it is sent
	strayLong  = 4 * latest // a shorter wait is left to end by itself
)

// straying gives the moment at which the next straggler may be sent; zero:
// nobody is one.
func (s *scope) straying() time.Time {
	c := s.sleepers.head
	if c == nil || s.open || s.pace.on || !s.gate.paused.IsZero() || s.answered.UnixNano() <= c.laid {
		return time.Time{}
	}
	at := time.Unix(0, c.laid).Add(strayAfter)
	if next := s.strayed.Add(s.apart()); next.After(at) {
		return next
	}
	return at
}

// apart gives the time between two stragglers: all of them are no more than
// those who come usually, or one per second. Each refusal of one doubles it,
// each answer halves it.
func (s *scope) apart() time.Duration {
	least := time.Duration(float64(time.Second) / max(1, s.gate.traffic.usual()))
	return min(max(s.lag, least, interval), latest)
}

// stray sends the straggler who has slept for longest, if there is a token for
// one more retry.
func (s *scope) stray(now time.Time) {
	s.strayed = now
	g := s.gate
	for range min(candidates, s.sleepers.n) {
		c := s.sleepers.head
		if !g.strays(c, now) {
			c.move(&s.sleepers)
			continue
		}
		if g.short.n == 0 && g.tokens.take(now) {
			c.unlist()
			c.scout = true
			g.let(c, now)
			s.tidy()
		}
		return
	}
	s.lag = latest
}

// strays tells whether the call may be sent before its time. A wait that the
// upstream itself has asked for is not cut short.
func (g *Breaker) strays(c *Caller, now time.Time) bool {
	laid := time.Unix(0, c.laid)
	if c.kept || c.wait < strayLong || c.last == nil || now.Sub(laid) < c.last.RetryAfter(laid) {
		return false
	}
	for _, s := range g.of(c) {
		if s != nil && (s.open || s.pace.on) {
			return false
		}
	}
	return true
}
