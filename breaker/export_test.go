package breaker

// Left counts what the gate still keeps: scopes, timers that are set, calls
// that stand still, and by how much its count of outages and ramps is wrong.
func (g *Breaker) Left() (scopes, timers, calls, drift int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	drift = g.troubled
	for _, s := range g.scopes {
		if s.open {
			drift--
		}
		if s.pace.on {
			drift--
		}
		if !s.next.IsZero() {
			timers++
		}
	}
	for _, l := range g.lists() {
		calls += l.n
	}
	if g.token != nil && g.token.Stop() {
		timers++
	}
	return len(g.scopes), timers, calls, drift
}
