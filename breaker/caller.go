package breaker

import (
	"cmp"
	"context"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/retry"
)

// BlockReason says why a call waits, for people to read.
type BlockReason string

// Paused is the reason where an operator has paused the call or the breaker.
const Paused BlockReason = "paused"

// The other reasons.
const (
	awaitsProbe  BlockReason = "probe"        // another call probes whether the outage is over
	inSlowStart  BlockReason = "slow start"   // the upstream is back, and others go first
	noRetryToken BlockReason = "retry budget" // too many retries are in progress
	inBackoff    BlockReason = "backoff"      // in Wait
)

// Caller is the place of one logical call at its breaker: the Breaker of its
// retry.Retrier. It makes one try at a time. Its commands may come from any
// goroutine.
type Caller struct {
	// OnBlock is called when Acquire begins to block, and when the reason
	// changes; OnUnblock when it no longer blocks. nil: none. Set them before
	// the first try.
	OnBlock   func(BlockReason)
	OnUnblock func()

	// FewRetries marks a call with few retries, such as a council member's. Its
	// first try goes even in an outage, unless the upstream has asked for a
	// cooldown. A fault of its own opens the circuit at once, since the others
	// are about to try again as well, unless faults are usual. Set it before the
	// first try.
	FewRetries bool

	// ModelOnly has no outage of the host keep the call that other models' calls
	// have found, and has faults of the host count for its model alone. It is for
	// a call that has left another model of the same upstream, because that
	// fails. Set it before the first try.
	ModelOnly bool

	asleep     bool // in Wait
	earlyProbe bool // woken for a try that does not count
	resumes    bool // it has made one: the next wait is the rest of the one before
	granted    bool // let go; Acquire has not returned yet
	probes     bool // the probe of an outage
	inFlight   bool // between Acquire and Report
	retryNow   bool // by command
	paused     bool // by command
	givenUp    bool // by command
	detached   bool // in no queue and no probe, as its own goroutine knows

	tries      int32 // beside the flags: a Caller is to fit into 144 bytes
	breaker    *Breaker
	scope      Scope
	in         *queue
	prev, next *Caller
	wake       chan struct{}

	began   moment        // the try in flight
	order   order         // of the latest try
	wait    time.Duration // the whole wait that it was put to sleep for last
	sleptAt int64         // when that was, in Unix nanoseconds; below 0: minus when the next wait has begun, see WaitsSince
	met     *met          // nil: nothing so far
	shared  *fault.Error  // a fault that Acquire is to return
}

// Acquire lets a try go at once while nothing is known against it. In an outage
// it may block, or return a fault that another call has met.
func (c *Caller) Acquire(ctx context.Context) (retry.Permit, error) {
	b := c.breaker
	c.detached = false
	b.mu.Lock()
	defer b.mu.Unlock()
	if !c.decided() && c.in == nil {
		now := b.now()
		if c.tries == 0 && c.last() == nil {
			b.traffic.arrive(now, b.degraded > 0)
		}
		b.admit(c, now, false)
	}
	if !c.decided() {
		if err := c.block(ctx); err != nil {
			b.withdraw(c)
			return nil, err
		}
	}
	return c.permit()
}

// block waits until the call is decided about, and keeps the hooks informed.
func (c *Caller) block(ctx context.Context) (err error) {
	for why := BlockReason(""); err == nil && !c.decided(); {
		changed := why != c.why()
		why = c.why()
		err = c.awaitWake(ctx, why, changed && c.OnBlock != nil)
	}
	if c.OnUnblock != nil {
		c.breaker.mu.Unlock()
		defer c.breaker.mu.Lock()
		c.OnUnblock()
	}
	return err
}

// awaitWake waits, without the lock, until the call is woken. tell calls OnBlock
// first.
func (c *Caller) awaitWake(ctx context.Context, why BlockReason, tell bool) error {
	wake := c.wakeChannel()
	c.breaker.mu.Unlock()
	defer c.breaker.mu.Lock()
	if tell {
		c.OnBlock(why)
	}
	_, err := clock.Or(c.breaker.Clock).SleepOrWake(ctx, clock.Forever, wake)
	return err
}

// why is the reason for which the call waits at this moment; "": it does not.
func (c *Caller) why() BlockReason {
	switch {
	case c.in == nil:
		return ""
	case !c.asleep && (c.paused || !c.breaker.pausedAt.IsZero()):
		return Paused
	}
	return c.in.why
}

// decided reports whether Acquire need not block.
func (c *Caller) decided() bool { return c.granted || c.shared != nil || c.givenUp }

// permit is what Acquire returns.
func (c *Caller) permit() (retry.Permit, error) {
	c.drainWake()
	switch f := c.shared; {
	case c.givenUp:
		c.breaker.withdraw(c)
		return nil, retry.ErrGivenUp
	case f != nil:
		now := c.breaker.now()
		m := c.meet(now)
		f.InRow = c.breaker.inRow(c, now)
		c.shared, m.last, m.shared = nil, f, true
		return nil, f
	}
	c.breaker.begun++
	c.granted, c.inFlight, c.order = false, true, c.breaker.begun
	c.breaker.countTry(c)
	return (*permit)(c), nil
}

// countTry counts a try that begins in the windows of its circuits.
func (b *Breaker) countTry(c *Caller) {
	c.began = 0
	for _, ci := range b.of(c) {
		if ci == nil {
			continue
		}
		if !ci.open {
			ci.recent.begin()
		}
		if c.began == 0 {
			c.began = momentOf(b.now())
		}
		ci.cohort.begin(c.began)
	}
}

// permit is a Caller that has been admitted.
type permit Caller

// Report implements [retry.Permit].
func (p *permit) Report(f *fault.Error) *fault.Error {
	c := (*Caller)(p)
	c.breaker.mu.Lock()
	defer c.breaker.mu.Unlock()
	return c.breaker.report(c, f, c.breaker.now())
}

// WaitsSince has the next Wait be the rest of one that has begun elsewhere, such as in another process. Where many
// calls wait for the same moment, they go in the order in which their waits have begun.
func (c *Caller) WaitsSince(begun time.Time) {
	c.breaker.mu.Lock()
	defer c.breaker.mu.Unlock()
	c.sleptAt = -begun.UnixNano()
}

// Wait sleeps for d as retry.Sleep does. It returns earlier when the upstream is
// back, on command, or with retry.ErrEarlyProbe.
func (c *Caller) Wait(ctx context.Context, d time.Duration) error {
	b := c.breaker
	c.detached = false
	b.mu.Lock()
	if c.givenUp {
		defer b.mu.Unlock()
		return retry.ErrGivenUp
	}
	b.putToSleep(c, d)
	if c.retryNow {
		b.goNow(c)
	}
	wake := c.wakeChannel()
	b.mu.Unlock()
	_, err := clock.Or(b.Clock).SleepOrWake(ctx, d, wake)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.awake(c, err)
}

// putToSleep queues a call where it is woken at the end of the outage that keeps
// it from going, or that may come of the fault it has met.
func (b *Breaker) putToSleep(c *Caller, d time.Duration) {
	now := b.now()
	c.asleep, c.sleptAt = true, cmp.Or(max(0, -c.sleptAt), now.UnixNano())
	if !c.resumes {
		c.wait = 0
	}
	c.wait, c.resumes = max(c.wait, d), false
	ci := b.outage(c)
	if ci == nil && c.last() != nil && levelOf(c.last()) != none {
		ci = b.circuit(c.key(levelOf(c.last())), now)
	}
	if ci == nil {
		b.sleeping.why = inBackoff
		b.sleeping.push(c)
		return
	}
	ci.sleeping.push(c)
	ci.setTimer(now)
}

// awake ends a call's sleep. In a slow start it keeps its place: Acquire continues
// from there.
func (b *Breaker) awake(c *Caller, err error) error {
	c.asleep = false
	c.drainWake()
	probe := c.earlyProbe && c.granted // else its time has come before
	c.earlyProbe = false
	switch {
	case err != nil:
		b.withdraw(c)
		return err
	case c.givenUp:
		b.withdraw(c)
		return retry.ErrGivenUp
	case probe:
		c.resumes = true
		return retry.ErrEarlyProbe
	}
	if c.in != nil && c.in.why == inBackoff {
		b.withdraw(c)
	}
	return nil
}

// Close forgets the call.
func (c *Caller) Close() {
	if c.detached && (c.met == nil || c.met.of == nil) {
		return
	}
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	b.withdraw(c)
	c.endRow()
}

// withdraw takes back all that the call has at the breaker.
func (b *Breaker) withdraw(c *Caller) {
	b.remove(c)
	c.granted, c.earlyProbe, c.shared, c.asleep = false, false, nil, false
	b.endProbe(c, b.now())
}

// remove takes a call out of its queue.
func (b *Breaker) remove(c *Caller) {
	q := c.in
	if q == nil {
		return
	}
	if c.dequeue(); q.circuit != nil {
		q.circuit.setTimer(b.now())
		q.circuit.forget()
	}
}

// share has Acquire return another call's fault.
func (c *Caller) share(f *fault.Error) {
	c.shared = f
	c.wakeUp()
}

// wakeChannel returns the channel on which the call is woken.
func (c *Caller) wakeChannel() <-chan struct{} {
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	if c.decided() {
		c.wakeUp()
	}
	return c.wake
}

// wakeUp wakes the call if it waits.
func (c *Caller) wakeUp() {
	if c.wake != nil {
		select {
		case c.wake <- struct{}{}:
			clock.Or(c.breaker.Clock).Woke(c.wake)
		default:
		}
	}
}

// drainWake drops a wake-up that came too late.
func (c *Caller) drainWake() {
	select {
	case <-c.wake:
	default:
	}
}
