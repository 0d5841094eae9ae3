package breaker

import (
	"math"
	"time"
)

// An early retry is the try of a call that would sleep for long although its
// upstream answers others. The call has met one of the refusals of an upstream
// with less capacity than before, too few to be an outage. As with an early
// probe, a failure does not count.
const (
	earlyRetryAfter = maxSpacing     // a call has slept so long before
	minEarlyRetry   = 4 * maxSpacing // a shorter wait is left to end by itself

	// Where the upstream is known to fail in part, a try made soon passes as
	// probably as one made late.
	earlyRetryAfterInPart = 5 * time.Second
	minEarlyRetryInPart   = 6 * time.Second
)

// earlyRetries returns how long a call has slept before an early retry, and the
// shortest wait that one may cut short.
func (ci *circuit) earlyRetries() (after, shortest time.Duration) {
	if ci.recent.failsInPart() {
		return earlyRetryAfterInPart, minEarlyRetryInPart
	}
	return earlyRetryAfter, minEarlyRetry
}

// nextEarlyRetry is when the next early retry may start; zero: never.
func (ci *circuit) nextEarlyRetry() time.Time {
	c := ci.sleeping.head
	if c == nil || ci.open || ci.slowStart.on || !ci.breaker.pausedAt.IsZero() ||
		ci.answered.UnixNano() <= c.sleptAt {
		return time.Time{}
	}
	after, _ := ci.earlyRetries()
	at := time.Unix(0, c.sleptAt).Add(after)
	if next := ci.earlyRetryAt.Add(ci.earlyRetrySpacing()); next.After(at) {
		return next
	}
	return at
}

// earlyRetrySpacing is the time between two early retries: all of them are no
// more than the usual calls, or one per second. Each that passes halves it.
func (ci *circuit) earlyRetrySpacing() time.Duration {
	least := time.Duration(float64(time.Second) / max(ci.breaker.part(), ci.breaker.traffic.usual()))
	return min(max(ci.earlyRetryGap, least), maxSpacing)
}

// failEarlyRetry lengthens the time between two early retries after one that has
// failed: twofold, or less where faults are usual. There it grows only if two in
// three fail.
func (ci *circuit) failEarlyRetry() {
	growth := 2.0
	if ci.recent.failsInPart() {
		growth = math.Sqrt2
	}
	ci.earlyRetryGap = time.Duration(growth * float64(ci.earlyRetrySpacing()))
}

// retryEarly wakes the call that has slept for longest, if there is a token for
// one more retry.
func (ci *circuit) retryEarly(now time.Time) {
	ci.earlyRetryAt = now
	b := ci.breaker
	_, shortest := ci.earlyRetries()
	for range min(candidates, ci.sleeping.n) {
		c := ci.sleeping.head
		if c.wait < shortest || !b.mayRetryEarly(c, now) {
			c.move(&ci.sleeping)
			continue
		}
		if b.noToken.n == 0 && b.budget.take(now, b.part()) {
			b.wakeEarly(c, now)
			ci.forget()
		}
		return
	}
	if !ci.recent.failsInPart() {
		ci.earlyRetryGap = maxSpacing
	}
}

// mayRetryEarly reports whether the call may go before its time. A wait that the
// upstream itself has asked for is not cut short.
func (b *Breaker) mayRetryEarly(c *Caller, now time.Time) bool {
	slept := time.Unix(0, c.sleptAt)
	if c.paused || c.last() == nil || c.leaves() || now.Sub(slept) < c.last().RetryAfter(slept) {
		return false
	}
	for _, ci := range b.of(c) {
		if ci != nil && (ci.open || ci.slowStart.on) {
			return false
		}
	}
	return true
}

// wakeEarly lets a sleeping call make a try that does not count if it fails.
func (b *Breaker) wakeEarly(c *Caller, now time.Time) {
	c.dequeue()
	c.earlyProbe = true
	b.grant(c, now)
}
