package access

// Len returns how many addresses are kept.
func (g *Guesses) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.addresses)
}
