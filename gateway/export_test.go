package gateway

// LoseSpool loses what is on disk.
func (g *Gateway) LoseSpool() error {
	g.spool.mu.Lock()
	defer g.spool.mu.Unlock()
	return g.spool.file.Truncate(0)
}

// Left counts what requests leave behind in a gateway: those under way, those
// that wait, and bytes of their bodies in memory and on disk.
func (g *Gateway) Left() (flights, waits int, memory, disk int64) {
	g.coalescer.mu.Lock()
	defer g.coalescer.mu.Unlock()
	for _, all := range g.coalescer.active {
		flights += len(all)
	}
	g.spool.mu.Lock()
	defer g.spool.mu.Unlock()
	return flights, len(g.waits.list()), g.spool.memory, g.spool.end
}
