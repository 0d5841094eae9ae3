package breaker

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/retry"
)

// BlockReason says why a call stands still.
type BlockReason string

// The reasons.
const (
	InBackoff     BlockReason = "asleep" // in the wait that its policy has set
	AwaitingProbe BlockReason = "probe"  // another call is under way to see whether the outage is over
	SlowStart     BlockReason = "ramp"   // the upstream is back, and others go before it
	NoRetryToken  BlockReason = "tokens" // too many retries are on their way
	Paused        BlockReason = "held"   // somebody said hold
)

// Caller is one logical call's place at its gate: the Gate of its retry.Retrier.
// One try at a time is made with it; its commands may come from any goroutine.
type Caller struct {
	// OnBlock is called when Acquire begins to block, and when the reason
	// changes; OnUnblock when it no longer does. nil: none. Set them before the
	// first try.
	OnBlock   func(BlockReason)
	OnUnblock func()

	// FewRetries is a call of few tries, whose fellows have as few. Its first goes even
	// in an outage, unless the upstream has asked for quiet, and a fault of its own
	// opens one at once, since the fellows are about to try again as well. Set it
	// before the first try.
	FewRetries bool

	tries      int32 // beside Wary: a call is to fit into 144 bytes
	gate       *Breaker
	scope      Scope
	in         *list
	prev, next *Caller
	wake       chan struct{}

	wait    time.Duration // the whole wait that it was put to sleep for last
	laid    int64         // when that was, in Unix nanoseconds
	entered uint64        // the gate's epoch when it was let in last
	last    *fault.Error
	shared  *fault.Error // a fault that is for Enter to return
	asleep  bool         // in Wait
	scout   bool         // woken to be one
	resting bool         // it has been one: the next wait is the rest of the one before
	granted bool         // let through; Enter has not returned yet
	probes  bool         // the probe of an outage
	inside  bool         // between Enter and Leave
	forced  bool         // somebody said now
	kept    bool         // somebody said hold
	over    bool         // somebody gave it up
	gone    bool         // it has nothing at the gate, as its own goroutine knows
}

// Acquire lets a try go at once where nothing is known against it. In an outage
// it may block, or return a fault that another call has met.
func (c *Caller) Acquire(ctx context.Context) (retry.Permit, error) {
	g := c.gate
	c.gone = false
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calm() && c.fresh() {
		g.traffic.cur++ // without a look at the clock, which would cost as much as all else
		c.granted, c.forced = true, false
	} else if !c.decided() && c.in == nil {
		now := g.now()
		if c.tries == 0 && c.last == nil {
			g.traffic.arrive(now, g.troubled > 0)
		}
		g.admit(c, now, false)
	}
	if !c.decided() {
		if err := c.blocks(ctx); err != nil {
			g.withdraw(c)
			return nil, err
		}
	}
	return c.settle()
}

// blocks waits until it is decided about the call.
func (c *Caller) blocks(ctx context.Context) (err error) {
	for why := BlockReason(""); err == nil && !c.decided(); {
		tell := c.OnBlock != nil && why != c.why()
		why = c.why()
		err = c.block(ctx, why, tell)
	}
	if c.OnUnblock != nil {
		c.gate.mu.Unlock()
		defer c.gate.mu.Lock()
		c.OnUnblock()
	}
	return err
}

// block waits, without the lock, until the call is woken. It has its caller
// told first.
func (c *Caller) block(ctx context.Context, why BlockReason, tell bool) error {
	wake := c.bell()
	c.gate.mu.Unlock()
	defer c.gate.mu.Lock()
	if tell {
		c.OnBlock(why)
	}
	if c.gate.Clock != nil {
		_, err := c.gate.Clock.SleepOrWake(ctx, endless, wake)
		return err
	}
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// BlockedBy says why the call stands still at this moment; "": it does not.
func (c *Caller) BlockedBy() BlockReason {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.why()
}

func (c *Caller) why() BlockReason {
	switch {
	case c.in == nil:
		return ""
	case !c.asleep && (c.kept || !c.gate.paused.IsZero()):
		return Paused
	}
	return c.in.why
}

// fresh tells whether the call has done nothing yet, and nobody anything to it.
func (c *Caller) fresh() bool {
	return c.tries == 0 && c.last == nil && c.in == nil && !c.kept && !c.decided()
}

// decided tells whether Enter need not block.
func (c *Caller) decided() bool { return c.granted || c.shared != nil || c.over }

// settle is what Enter returns.
func (c *Caller) settle() (retry.Permit, error) {
	c.hush()
	switch f := c.shared; {
	case c.over:
		c.gate.withdraw(c)
		return nil, c.givenUp()
	case f != nil:
		c.shared, c.last = nil, f
		return nil, f
	}
	c.granted, c.inside, c.entered = false, true, c.gate.epoch
	return (*permit)(c), nil
}

// permit is a call that has been let through.
type permit Caller

func (p *permit) Report(f *fault.Error) {
	c := (*Caller)(p)
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.leave(c, f, c.gate.now())
	c.gone = c.in == nil
}

// Wait sleeps for d by the clock that retry.Sleep goes by. It returns before
// that when the upstream is back, when somebody says now, or as a scout.
func (c *Caller) Wait(ctx context.Context, d time.Duration) error {
	g := c.gate
	c.gone = false
	g.mu.Lock()
	if c.over {
		defer g.mu.Unlock()
		return c.givenUp()
	}
	g.sleep(c, d)
	wake := c.bell()
	g.mu.Unlock()
	err := g.doze(ctx, d, wake)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.awake(c, err)
}

// sleep puts a call to sleep where it is woken when the outage is over that
// keeps it from going, or that may come of the fault it has met.
func (g *Breaker) sleep(c *Caller, d time.Duration) {
	now := g.now()
	c.asleep, c.laid = true, now.UnixNano()
	if !c.resting || d > c.wait {
		c.wait = d
	}
	c.resting = false
	s := g.outage(c)
	if s == nil && c.last != nil && about(c.last.Kind) != nothing {
		s = g.scope(c.key(about(c.last.Kind)), now)
	}
	if s == nil {
		g.asleep.why = InBackoff
		g.asleep.push(c)
		return
	}
	s.sleepers.push(c)
	s.arm(now)
}

// awake ends a call's sleep. One that is on a ramp stays there: Enter goes on
// from its place.
func (g *Breaker) awake(c *Caller, err error) error {
	c.asleep = false
	c.hush()
	switch scout := c.scout; {
	case err != nil:
		g.withdraw(c)
		return err
	case c.over:
		g.withdraw(c)
		return c.givenUp()
	case scout:
		c.scout, c.resting = false, true
		return retry.ErrEarlyProbe
	}
	if c.in != nil && c.in.why == InBackoff {
		g.withdraw(c)
	}
	return nil
}

// RetryNow ends the call's wait and lets it go, even in an outage, but not beside a
// Hold. One that has done nothing yet is let go when it comes.
func (c *Caller) RetryNow() {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.in == nil {
		c.forced = !c.inside && c.fresh()
		return
	}
	if c.forced = true; c.in == &g.held {
		return
	}
	g.pull(c)
	g.admit(c, g.now(), false)
	c.rouse()
}

// Pause keeps the call from going until Resume.
func (c *Caller) Pause() {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.kept = true; c.in != nil && !c.asleep && c.in != &g.held {
		g.pull(c)
		g.held.why = Paused
		g.held.push(c)
	}
}

// Resume ends Hold.
func (c *Caller) Resume() {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.kept = false; c.in == &g.held {
		c.unlist()
		g.admit(c, g.now(), false)
	}
}

// GiveUp ends the call where it waits, or as soon as it would, with ErrGivenUp.
func (c *Caller) GiveUp() {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pull(c)
	c.end()
}

// Close forgets the call.
func (c *Caller) Close() {
	if c.gone {
		return
	}
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.withdraw(c)
}

// withdraw takes back whatever the call has at the gate.
func (g *Breaker) withdraw(c *Caller) {
	g.pull(c)
	c.granted, c.scout, c.shared, c.asleep = false, false, nil, false
	g.unprobe(c, g.now())
}

// pull takes a call out of its list.
func (g *Breaker) pull(c *Caller) {
	l := c.in
	if l == nil {
		return
	}
	if c.unlist(); l.scope != nil {
		l.scope.arm(g.now())
		l.scope.tidy()
	}
}

// end ends a call's waiting for good.
func (c *Caller) end() {
	c.over = true
	c.rouse()
}

// share gives the call another's fault.
func (c *Caller) share(f *fault.Error) {
	c.shared = f
	c.rouse()
}

// bell gives the channel on which the call is woken.
func (c *Caller) bell() <-chan struct{} {
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	if c.decided() {
		c.rouse()
	}
	return c.wake
}

// rouse wakes the call if it blocks.
func (c *Caller) rouse() {
	if c.wake != nil {
		select {
		case c.wake <- struct{}{}:
			if c.gate.Clock != nil {
				c.gate.Clock.Rung(c.wake)
			}
		default:
		}
	}
}

// hush forgets a wake-up that came too late.
func (c *Caller) hush() {
	select {
	case <-c.wake:
	default:
	}
}
