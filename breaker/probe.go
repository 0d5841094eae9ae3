package breaker

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

const (
	minSpacing   = 250 * time.Millisecond // between two probes, to which age²/aging is added
	maxSpacing   = 30 * time.Second       // that they may have to be apart
	aging        = 360 * time.Second      // 2 a minute when waits exceed one
	probeLimit   = 30 * time.Second       // a probe that takes longer is not waited for
	silentLimit  = time.Minute            // the same where the outage is a silence: the next one would be as silent
	refusalLimit = time.Second            // a refusal after a stated wait comes sooner than this
	youngOutage  = 10 * time.Second       // so long a probe that is not refused at once ends an outage; for as long that is no proof
	few          = 5                      // so few calls probe often enough by their own schedules
	longWait     = 3 * time.Second        // while they sleep for less than this on average
	candidates   = 8                      // sleeping calls that are looked at for an early probe
)

// advanceAll does what is due in all circuits.
func (b *Breaker) advanceAll(now time.Time) {
	for _, ci := range b.all() {
		ci.advance(now)
	}
}

// advance does what is due in the circuit: a batch of its slow start, the next
// probe, an early probe or retry. It then sets the timer for what comes next.
func (ci *circuit) advance(now time.Time) {
	if ci.slowStart.on {
		if ci.breaker.pausedAt.IsZero() {
			ci.startBatch(now)
		}
		if ci.starting.n == 0 {
			ci.endSlowStart()
			ci.forget()
		}
	}
	if due(ci.nextPresumption(), now) {
		ci.presumedAt = now
		ci.breaker.release(ci.back(momentOf(now), now), ci.key, now)
	}
	for ci.open && ci.awaitingProbe.n > 0 && ci.mayProbe(now) && !ci.probeDue(now).After(now) {
		c := ci.nextProbe(&ci.awaitingProbe)
		c.dequeue()
		ci.breaker.admit(c, now, false)
	}
	if ci.open && ci.mayProbe(now) && ci.awaitingProbe.n == 0 && due(ci.nextEarlyProbe(now), now) {
		ci.probeEarly(now)
	}
	if due(ci.nextEarlyRetry(), now) {
		ci.retryEarly(now)
	}
	ci.setTimer(now)
}

// due reports whether a moment, if it is one, has come.
func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// nextPresumption is when the probe is taken for answered; zero: its outcome is waited for. At the end of a stated
// wait, and in the first seconds of an outage, a refusal would have come at once, an answer takes its time, and the
// other calls need not wait for it.
func (ci *circuit) nextPresumption() time.Time {
	switch {
	case ci.probe == nil:
	case ci.statedWait():
		return ci.probedAt.Add(refusalLimit)
	case ci.open && ci.silences == 0 && ci.age() < youngOutage:
		if after := max(refusalLimit, ci.cohort.longestRefusal(), 2*ci.took); after < ci.probeLimit() {
			return ci.probedAt.Add(after)
		}
	}
	return time.Time{}
}

// age returns how old the outage was when the latest probe began: since all tries are refused, if that is certain.
func (ci *circuit) age() time.Duration {
	if ci.outageFrom != 0 {
		return ci.outageFrom.age(ci.probedAt)
	}
	return ci.probedAt.Sub(ci.firstFault)
}

// statedWait reports whether a stated wait has opened the circuit, or keeps it
// open.
func (ci *circuit) statedWait() bool { return ci.open && !ci.cooldown.IsZero() }

// probing reports whether there is a probe to wait for.
func (ci *circuit) probing(now time.Time) bool {
	return (ci.probe != nil || ci.otherProbe != "") && now.Sub(ci.probedAt) < ci.probeLimit()
}

// probeLimit is for how long a probe is waited for.
func (ci *circuit) probeLimit() time.Duration {
	if ci.silences > 0 {
		return silentLimit
	}
	return probeLimit
}

// mayProbe reports whether nothing but the time between probes is in the way.
func (ci *circuit) mayProbe(now time.Time) bool {
	return ci.breaker.pausedAt.IsZero() && !ci.probing(now) && !ci.coolsDown(now)
}

// probeDue is when the next probe may go.
func (ci *circuit) probeDue(now time.Time) time.Time {
	switch {
	case ci.probeNow:
		return now
	case ci.probeAtOnce:
		return ci.firstProbe(now)
	}
	return ci.probedAt.Add(ci.spacing() + ci.turn())
}

// firstProbe is when the first probe after a cooldown may go.
func (ci *circuit) firstProbe(now time.Time) time.Time {
	if turn := ci.turn(); turn > 0 {
		return ci.cooldown.Add(turn)
	}
	return now
}

// spacing is the least time between two probes: little in a short outage, whose
// end is to be noticed at once, half a minute in a long one.
func (ci *circuit) spacing() time.Duration {
	age := ci.probedAt.Sub(ci.firstFault).Seconds()
	apart := time.Duration(age * age / aging.Seconds() * float64(time.Second))
	return min(minSpacing+apart, maxSpacing)
}

// nextEarlyProbe is when a sleeping call is woken as a probe: never more often
// than the calls' own schedules would send one on average, but evenly, since
// those run in step after an outage's first minutes. It is zero where their own
// schedules do. A stated wait is not believed for longer than maxCooldown, even
// where a single call sleeps.
func (ci *circuit) nextEarlyProbe(now time.Time) time.Time {
	n := time.Duration(ci.sleeping.n)
	switch {
	case n > 0 && ci.probeNow:
		return now
	case n > 0 && ci.probeAtOnce && ci.resetAt.After(ci.cooldown):
		if ci.searchedAt.After(ci.probedAt) {
			return ci.searchedAt.Add(maxSpacing)
		}
		return ci.firstProbe(now)
	case n == 0:
		return time.Time{}
	}
	all := float64(n) / ci.share(ci.sleeping.n) // in the fleet
	if all < 2 || all < few && ci.sleeping.sum/n < longWait {
		return time.Time{}
	}
	last := ci.probedAt
	if ci.searchedAt.After(last) {
		last = ci.searchedAt
	}
	usual := time.Duration(float64(ci.sleeping.sum/n) / all)
	return last.Add(max(ci.spacing(), usual) + ci.turn())
}

// probeEarly wakes a sleeping call as the next probe, if nothing else keeps it.
func (ci *circuit) probeEarly(now time.Time) {
	next := ci.nextProbe(&ci.sleeping)
	for range min(candidates, ci.sleeping.n) {
		c := next
		next = ci.sleeping.head
		if c.paused || c.leaves() || !ci.breaker.mayProbeAll(c, now) {
			c.move(&ci.sleeping)
			continue
		}
		ci.breaker.wakeEarly(c, now)
		return
	}
	ci.searchedAt, ci.probeNow = now, false
}

// mayProbeAll reports whether the call could probe all circuits that concern it.
func (b *Breaker) mayProbeAll(c *Caller, now time.Time) bool {
	for _, ci := range b.of(c) {
		if ci != nil && ci.open && (!ci.mayProbe(now) || ci.probeDue(now).After(now)) {
			return false
		}
	}
	return true
}

// setTimer sets the timer for what comes next in the circuit, if anything does.
func (ci *circuit) setTimer(now time.Time) {
	next := ci.next(now)
	if next.IsZero() {
		ci.stopTimer()
		return
	}
	if next.Equal(ci.timerAt) {
		return
	}
	ci.timerAt = next
	if d := max(next.Sub(now), 0); ci.timer == nil {
		ci.timer = clock.Or(ci.breaker.Clock).AfterFunc(d, ci.onTimer)
	} else {
		ci.timer.Reset(d)
	}
}

func (ci *circuit) stopTimer() {
	ci.timerAt = time.Time{}
	if ci.timer != nil {
		ci.timer.Stop()
	}
}

func (ci *circuit) onTimer() {
	b := ci.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.now(); due(ci.timerAt, now) {
		ci.timerAt = time.Time{}
		ci.advance(now)
	}
}

// next is when something happens in the circuit; zero: nothing does.
func (ci *circuit) next(now time.Time) time.Time {
	switch {
	case !ci.breaker.pausedAt.IsZero():
		return time.Time{}
	case ci.slowStart.on:
		return ci.slowStart.at.Add(startInterval)
	case !ci.nextPresumption().IsZero():
		return ci.nextPresumption()
	case !ci.open:
		return ci.nextEarlyRetry()
	case ci.awaitingProbe.n+ci.sleeping.n == 0:
		return time.Time{}
	case ci.coolsDown(now):
		return now.Add(ci.cooldown.Sub(now.Round(0)))
	case ci.probing(now):
		return ci.probedAt.Add(ci.probeLimit())
	case ci.awaitingProbe.n > 0:
		return ci.probeDue(now)
	}
	return ci.nextEarlyProbe(now)
}
