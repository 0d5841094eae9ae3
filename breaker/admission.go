package breaker

import "time"

// admit decides about a call that wants to go: it goes, shares a fault, or is
// queued. started is a call that comes out of a slow start.
func (b *Breaker) admit(c *Caller, now time.Time, started bool) {
	switch {
	case !b.pausedAt.IsZero() || c.paused:
		b.hold(c)
		return
	case c.retryNow:
		b.grant(c, now)
		return
	}
	circuits := b.of(c)
	open := false
	for _, ci := range circuits {
		if ci == nil || !ci.open {
			continue
		}
		if c.asleep {
			ci.sleeping.push(c)
			ci.setTimer(now)
			return
		}
		if open = true; !ci.admits(c, now) {
			return
		}
	}
	if open || started {
		b.grant(c, now)
		return
	}
	for _, ci := range circuits {
		if ci != nil && ci.slowStart.on {
			ci.enqueue(c)
			ci.advance(now)
			return
		}
	}
	b.ration(c, now)
}

// admits reports whether the call may be the probe. If not, it shares a fault
// or is queued for the probe's outcome.
func (ci *circuit) admits(c *Caller, now time.Time) bool {
	switch {
	case ci.coolsDown(now):
		c.share(ci.sharedFault(now))
	case c.FewRetries && c.tries == 0 && c.last() == nil:
		return true
	case ci.probing(now):
		ci.awaitingProbe.push(c)
		ci.setTimer(now)
	case !ci.probeDue(now).After(now):
		return true
	case ci.probeFailed:
		c.share(ci.sharedFault(now))
	default:
		ci.awaitingProbe.push(c)
		ci.setTimer(now)
	}
	return false
}

// nextProbe returns which of the calls of a queue is the next probe: in turn that which has waited longest, and that
// which has made the most tries itself. An upstream that answers each call at its third try would else be down until
// one has made two by chance.
func (ci *circuit) nextProbe(q *queue) *Caller {
	most := q.head
	if ci.failedProbes%2 == 0 {
		return most
	}
	for c := most; c != nil; c = c.next {
		if c.tries > most.tries {
			most = c
		}
	}
	return most
}

// grant lets a call go. In an outage it is the probe, unless another is.
func (b *Breaker) grant(c *Caller, now time.Time) {
	c.granted, c.retryNow = true, false
	for _, ci := range b.of(c) {
		if ci != nil && ci.open && !ci.probing(now) {
			c.probes = true
			ci.probe, ci.probedAt, ci.probeFailed = c, now, false
			ci.probeNow, ci.probeAtOnce, ci.otherProbe = false, false, ""
			ci.setTimer(now)
			ci.tell(probing, now)
		}
	}
	c.wakeUp()
}
