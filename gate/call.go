package gate

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/retry"
)

// Block says why a call stands still.
type Block string

// The reasons.
const (
	Asleep Block = "asleep" // in the wait that its policy has set
	Probe  Block = "probe"  // another call is under way to see whether the outage is over
	Ramp   Block = "ramp"   // the upstream is back, and others go before it
	Tokens Block = "tokens" // too many retries are on their way
	Held   Block = "held"   // somebody said hold
)

// Call is one logical call's place at its gate: the Gate of its retry.Engine.
// One try at a time is made with it; its commands may come from any goroutine.
type Call struct {
	Blocked func(Block) // told when Enter begins to block, and when the reason changes; nil: nobody. Set it before the first try

	// Wary is a call of few tries, whose fellows have as few. Its first goes even
	// in an outage, unless the upstream has asked for quiet, and a fault of its own
	// opens one at once, since the fellows are about to try again as well. Set it
	// before the first try.
	Wary bool

	tries      int32 // beside Wary: a call is to fit into 144 bytes
	gate       *Gate
	scope      Scope
	in         *list
	prev, next *Call
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

// Enter lets a try go at once where nothing is known against it. In an outage
// it may block, or return a fault that another call has met.
func (c *Call) Enter(ctx context.Context) (retry.Pass, error) {
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
	for why := Block(""); !c.decided(); {
		tell := c.Blocked != nil && why != c.why()
		why = c.why()
		if err := c.block(ctx, why, tell); err != nil {
			g.withdraw(c)
			return nil, err
		}
	}
	return c.settle()
}

// block waits, without the lock, until the call is woken. It has its caller
// told first.
func (c *Call) block(ctx context.Context, why Block, tell bool) error {
	wake := c.bell()
	c.gate.mu.Unlock()
	defer c.gate.mu.Lock()
	if tell {
		c.Blocked(why)
	}
	if c.gate.Clock != nil {
		_, err := c.gate.Clock.Doze(ctx, endless, wake)
		return err
	}
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Blocks says why the call stands still at this moment; "": it does not.
func (c *Call) Blocks() Block {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.why()
}

func (c *Call) why() Block {
	switch {
	case c.in == nil:
		return ""
	case !c.asleep && (c.kept || !c.gate.paused.IsZero()):
		return Held
	}
	return c.in.why
}

// fresh tells whether the call has done nothing yet, and nobody anything to it.
func (c *Call) fresh() bool {
	return c.tries == 0 && c.last == nil && c.in == nil && !c.kept && !c.decided()
}

// decided tells whether Enter need not block.
func (c *Call) decided() bool { return c.granted || c.shared != nil || c.over }

// settle is what Enter returns.
func (c *Call) settle() (retry.Pass, error) {
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
	return (*pass)(c), nil
}

// pass is a call that has been let through.
type pass Call

func (p *pass) Leave(f *fault.Error) {
	c := (*Call)(p)
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.leave(c, f, c.gate.now())
	c.gone = c.in == nil
}

// Wait sleeps for d by the clock that retry.Sleep goes by. It returns before
// that when the upstream is back, when somebody says now, or as a scout.
func (c *Call) Wait(ctx context.Context, d time.Duration) error {
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
func (g *Gate) sleep(c *Call, d time.Duration) {
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
		g.asleep.why = Asleep
		g.asleep.push(c)
		return
	}
	s.sleepers.push(c)
	s.arm(now)
}

// awake ends a call's sleep. One that is on a ramp stays there: Enter goes on
// from its place.
func (g *Gate) awake(c *Call, err error) error {
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
		return retry.ErrScout
	}
	if c.in != nil && c.in.why == Asleep {
		g.withdraw(c)
	}
	return nil
}

// Now ends the call's wait and lets it go, even in an outage, but not beside a
// Hold. One that has done nothing yet is let go when it comes.
func (c *Call) Now() {
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

// Hold keeps the call from going until Resume.
func (c *Call) Hold() {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.kept = true; c.in != nil && !c.asleep && c.in != &g.held {
		g.pull(c)
		g.held.why = Held
		g.held.push(c)
	}
}

// Resume ends Hold.
func (c *Call) Resume() {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.kept = false; c.in == &g.held {
		c.unlist()
		g.admit(c, g.now(), false)
	}
}

// GiveUp ends the call where it waits, or as soon as it would, with ErrGivenUp.
func (c *Call) GiveUp() {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pull(c)
	c.end()
}

// Close forgets the call.
func (c *Call) Close() {
	if c.gone {
		return
	}
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.withdraw(c)
}

// withdraw takes back whatever the call has at the gate.
func (g *Gate) withdraw(c *Call) {
	g.pull(c)
	c.granted, c.scout, c.shared, c.asleep = false, false, nil, false
	g.unprobe(c, g.now())
}

// pull takes a call out of its list.
func (g *Gate) pull(c *Call) {
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
func (c *Call) end() {
	c.over = true
	c.rouse()
}

// share gives the call another's fault.
func (c *Call) share(f *fault.Error) {
	c.shared = f
	c.rouse()
}

// bell gives the channel on which the call is woken.
func (c *Call) bell() <-chan struct{} {
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	if c.decided() {
		c.rouse()
	}
	return c.wake
}

// rouse wakes the call if it blocks.
func (c *Call) rouse() {
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
func (c *Call) hush() {
	select {
	case <-c.wake:
	default:
	}
}
