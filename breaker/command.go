package breaker

import "time"

// Pause lets no call go until Resume, and keeps waits that fall due. by names
// the operator, to be shown.
func (b *Breaker) Pause(by string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pausedAt.IsZero() {
		b.pausedAt = b.now()
	}
	b.pausedBy = by
}

// Resume ends Pause. The calls that waited for it go in a slow start.
func (b *Breaker) Resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pausedAt.IsZero() {
		return
	}
	b.pausedAt, b.pausedBy = time.Time{}, ""
	now := b.now()
	var free []*Caller
	for _, c := range b.paused.drain() {
		if c.paused {
			b.paused.push(c)
		} else {
			free = append(free, c)
		}
	}
	b.advanceAll(now)
	b.spend(now)
	b.release(free, key{}, now)
}

// RetryNow asks the upstream at once: for each open circuit one waiting call
// goes. Calls that wait while no circuit is open go as well, in a slow start.
// None of these tries counts if it fails.
func (b *Breaker) RetryNow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	free := b.sleeping.drain()
	for _, ci := range b.all() {
		switch {
		case !ci.open:
			free = append(free, ci.sleeping.drain()...)
		case !ci.probing(now):
			ci.cooldown, ci.probeNow = time.Time{}, true
		}
	}
	for _, c := range free {
		c.earlyProbe = c.last() != nil
	}
	b.advanceAll(now)
	b.release(free, key{}, now)
}

// GiveUp ends all calls that wait, with retry.ErrGivenUp.
func (b *Breaker) GiveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queues() {
		for _, c := range q.drain() {
			c.giveUp()
		}
	}
	for _, ci := range b.all() {
		ci.forget()
	}
}

// RetryNow ends the call's wait and lets it go, even in an outage, but not while
// it is paused. Between waits it holds for the next: who has seen that a try
// failed may ask before the call waits. Its try does not count if it fails: the
// wait continues, with the retries that it had.
func (c *Caller) RetryNow() {
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	c.retryNow = !c.inFlight && !c.granted
	if c.retryNow && c.in != nil && c.in != &b.paused {
		b.goNow(c)
	}
}

// goNow takes a call that is to go at once out of its queue.
func (b *Breaker) goNow(c *Caller) {
	b.remove(c)
	c.earlyProbe = c.asleep && c.last() != nil
	b.admit(c, b.now(), false)
	c.wakeUp()
}

// Pause keeps the call from going until Resume.
func (c *Caller) Pause() {
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.paused = true; c.in != nil && !c.asleep && c.in != &b.paused {
		b.remove(c)
		b.hold(c)
	}
}

// Resume ends Pause.
func (c *Caller) Resume() {
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.paused = false; c.in == &b.paused {
		c.dequeue()
		b.admit(c, b.now(), false)
	}
}

// GiveUp ends the call where it waits, or as soon as it would, with
// retry.ErrGivenUp.
func (c *Caller) GiveUp() {
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(c)
	c.giveUp()
}

// giveUp ends a call's waiting for good.
func (c *Caller) giveUp() {
	c.givenUp = true
	c.wakeUp()
}

// hold queues a call that is paused.
func (b *Breaker) hold(c *Caller) {
	b.paused.why = Paused
	b.paused.push(c)
}
