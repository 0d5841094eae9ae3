package gate

// Left counts what the gate still keeps: scopes, timers that are set, ramps and
// outages, calls that stand still.
func (g *Gate) Left() (scopes, timers, troubled, calls int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.scopes {
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
	return len(g.scopes), timers, g.troubled, calls
}
