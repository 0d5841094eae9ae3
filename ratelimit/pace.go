package ratelimit

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// dispatch admits the calls that there is room for, and sets the timer for the next. mu is held.
func (t *Table) dispatch(e *entry, now time.Time) {
	for {
		c, in := e.next(now)
		if c == nil {
			t.setTimer(e, in)
			t.tell(e, now)
			return
		}
		e.letGo(t, c, now)
	}
}

// setTimer has dispatch called again after a time, if something waits.
func (t *Table) setTimer(e *entry, in time.Duration) {
	switch {
	case e.n == 0 && e.timer == nil:
	case e.n == 0:
		e.timer.Stop()
	case e.timer == nil:
		e.timer = clock.Or(t.Clock).AfterFunc(in, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.dispatch(e, t.now())
		})
	default:
		e.timer.Reset(in)
	}
}

// next returns the call that goes now; nil: none does for that long. Where there is no room for the one whose turn it
// is, a smaller one after it goes.
func (e *entry) next(now time.Time) (goes *Call, in time.Duration) {
	in = e.gone.Add(probeInterval).Sub(now)
	probes, looked := in <= 0, 0
	blocked := false // for busy flows
	for f := range e.order() {
		c := f.calls[0]
		if blocked && !f.fresh {
			continue
		}
		wait := e.wait(c, c.keeps(), now)
		if c.roomy = wait == 0 && !e.overdue(c, now); wait == 0 || probes {
			goes = c
			break
		}
		in = min(in, wait)
		looked++
		blocked = blocked || c.passed >= maxPassed || looked >= scanned
		if blocked && (f.fresh || e.run >= freshRun && e.wait(c, 0, now) > 0) {
			return nil, in
		}
	}
	if goes == nil {
		return nil, in
	}
	for f := range e.order() {
		if f == goes.flow {
			break
		}
		f.calls[0].passed++
	}
	return goes, 0
}

// wait returns how long it takes until there is room for a call while a share of the limits is kept.
func (e *entry) wait(c *Call, keep float64, now time.Time) (longest time.Duration) {
	for i := range e.limits[:e.known] {
		k := &e.limits[i]
		if k.Name == learnedName && e.overdue(c, now) {
			continue
		}
		if now.Sub(k.Seen) < outdated {
			longest = max(longest, k.wait(c.cost.of(k.Unit), keep, now))
			if len(e.heard) > 0 {
				longest = max(longest, k.creditWait(c.cost.of(k.Unit), keep, e.part(k.Unit, now), now))
			}
		}
	}
	return longest
}

// outdated is how old a statement is that holds nothing back any more: answers have come without it.
const outdated = 10 * time.Minute

// keeps returns the share of a limit that is not for the call.
func (c *Call) keeps() float64 {
	if c.flow.fresh {
		return 0
	}
	return c.Reserve
}

// letGo charges a call, and wakes it.
func (e *entry) letGo(t *Table, c *Call, now time.Time) {
	e.remove(c, true)
	for i := range e.limits[:e.known] {
		k := &e.limits[i]
		if k.Unit == Tokens {
			c.alone, c.had = k.flying == 0, k.leftAt(now)
		}
		c.marks[i] = k.charge(c.cost.of(k.Unit), now)
		k.own.has -= c.cost.of(k.Unit)
	}
	e.spend(c, now)
	c.waits, c.flies, c.sent, e.gone = false, true, now, now
	c.flow.inFlight++
	e.went.add(now)
	select {
	case c.wake <- struct{}{}:
		clock.Or(t.Clock).Woke(c.wake)
	default: // it has not begun to sleep
	}
}

// land notes that a call has reached the provider, or never will.
func (e *entry) land(c *Call) {
	if !c.flies {
		return
	}
	c.flies = false
	for i := range e.limits[:e.known] {
		k := &e.limits[i]
		k.flying = max(0, k.flying-c.cost.of(k.Unit))
	}
}

// placeOf returns where a call waits, by the limit that keeps it longest.
func (e *entry) placeOf(c *Call, now time.Time) (p Place) {
	all := c.cost
	e.ahead(c, func(before *Call) { all.add(before.cost) })
	p.Ahead = int(all.Requests) - 1
	for i := range e.limits[:e.known] {
		k := &e.limits[i]
		if in := k.until(all.of(k.Unit), c.keeps(), now); in >= p.In && k.rate > 0 {
			p.In, p.Limit = in, k.Limit
			p.Limit.Remaining = k.leftAt(now)
			p.Limit.Used = 1 - p.Limit.Remaining/k.limit
		}
	}
	return p
}

// The estimate of what a request costs whose session has had no answer so far, and how it is corrected.
const (
	tokensPerByte = 0.25
	firstOutput   = 500
	correction    = 0.1 // the weight of the latest answer
)

// estimate returns what a request is going to cost: what the latest of its session has, and a quarter of a token
// for each byte that is new.
func (e *entry) estimate(f *flow, bytes, maxTokens float64) (c amount) {
	grown, u := bytes-f.bytes, f.usage
	c = amount{Requests: 1, Output: u.Output}
	switch {
	case f.bytes == 0:
		c.Input, c.Output = bytes*e.perByte, e.output
	case grown < 0:
		c.Input = (u.Input + u.Cached) * bytes / f.bytes
	case u.Cached+u.Written > 0: // what was sent before is read from the cache
		c.Input = grown * tokensPerByte
	default:
		c.Input = u.Input + grown*tokensPerByte
	}
	if maxTokens > 0 {
		c.Output = maxTokens
	}
	return c
}

// learn corrects the estimate for sessions that have had no answer.
func (e *entry) learn(bytes float64, u Charged) {
	if bytes > 0 {
		e.perByte += correction * ((u.Input+u.Cached)/bytes - e.perByte)
	}
	e.output += correction * (u.Output - e.output)
}
