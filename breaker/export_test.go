package breaker

// Left counts what the breaker still keeps: circuits, timers that are set, calls
// that wait, and by how much its count of degraded circuits is wrong.
func (b *Breaker) Left() (circuits, timers, calls, drift int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	drift = b.degraded
	for _, ci := range b.circuits {
		if ci.open {
			drift--
		}
		if ci.slowStart.on {
			drift--
		}
		if !ci.timerAt.IsZero() {
			timers++
		}
	}
	for _, q := range b.queues() {
		calls += q.n
	}
	if b.refill != nil && b.refill.Stop() {
		timers++
	}
	return len(b.circuits), timers, calls, drift
}

// InBackoff is the reason of a call that is in Wait.
const InBackoff = inBackoff

// BlockedBy returns the reason for which the call waits at this moment.
func (c *Caller) BlockedBy() BlockReason {
	c.breaker.mu.Lock()
	defer c.breaker.mu.Unlock()
	return c.why()
}
