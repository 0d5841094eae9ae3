package ratelimit

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// Request is what a Call has to know of the request that it is for. Its methods but Bytes are called only where limits
// are known. Bytes must not block.
type Request interface {
	// Flow is whose turn it is: the requests of one go first in first out, and of several flows one each in turn,
	// such as of sessions and agents. An agent works by itself: others go first after a pause.
	Flow() (name string, agent bool)
	Bytes() int64     // the length of its body
	MaxTokens() int64 // the longest answer that it asks for; 0: it does not say
	Waits(Place)      // called when it begins to wait
}

// Call is the place of one request at the limits of its key. It makes one try at a time.
type Call struct {
	Key     Key
	Request Request

	// Reserve is the share of each limit that is kept for requests which go first.
	Reserve float64

	entry  *entry // nil: nothing is known that holds it back
	before amount // in all when it went, while nothing was known
	flow   *flow
	cost   amount // that it is going to be charged
	bytes  float64
	sent   time.Time // zero: it is not in flight
	marks  [maxLimits]float64
	agent  bool
	passed int     // small ones that have gone before it
	alone  bool    // nothing else was in flight when it went
	had    float64 // the tokens that were left then
	roomy  bool    // it has gone because there was room
	waits  bool
	queued time.Time // when it began to wait
	flies  bool      // it has gone, and nothing has come back
	wake   chan struct{}
}

// Place is where a request waits.
type Place struct {
	Ahead int           // so many go before it; 1000: or more
	Limit Limit         // for which it waits, with what is left of it
	In    time.Duration // until it goes, about
}

// String says why a request waits: "3 ahead, 40k of 450k tokens/min left, about 12 s".
func (p Place) String() string {
	text := ""
	if p.Ahead > 0 {
		text = strconv.Itoa(p.Ahead) + " ahead, "
	}
	seconds := int(math.Ceil(p.In.Seconds()))
	unit := string(p.Limit.Unit)
	switch p.Limit.Unit {
	case InputTokens:
		unit = "input tokens"
	case OutputTokens:
		unit = "output tokens"
	}
	per := "/min"
	if w := p.Limit.Window; w != 0 && w != time.Minute {
		per = " in " + w.String()
	}
	return fmt.Sprintf("%s%s of %s %s%s left, about %d s", text, short(p.Limit.Remaining), short(p.Limit.Limit), unit, per, seconds)
}

// short writes a number as people do: 450k.
func short(n float64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(math.Floor(n/1e5)/10, 'f', -1, 64) + "M"
	case n >= 1e4:
		return strconv.FormatFloat(math.Floor(n/1e3), 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(math.Floor(n), 'f', -1, 64)
}

// probeInterval is how long nothing goes at the longest while something waits. What was stated may be wrong.
const probeInterval = time.Minute

// Acquire lets a try of the request go when the limits that were stated for its key leave room for it, and at once
// where none are known. It returns context.Cause when ctx ends.
func (t *Table) Acquire(ctx context.Context, c *Call) error {
	t.mu.Lock()
	t.end(c)
	e := t.entry(c.Key)
	if !e.paces {
		e.uncounted.add(amount{1, float64(c.Request.Bytes()) * e.perByte, e.output})
		c.entry, c.before, c.sent = nil, e.uncounted, t.now()
		e.went.add(c.sent)
		t.mu.Unlock()
		return nil
	}
	countsMax := e.countsMax
	t.mu.Unlock()
	var maxTokens float64
	if countsMax {
		maxTokens = float64(max(0, c.Request.MaxTokens()))
	}
	c.bytes = float64(c.Request.Bytes())
	var name string
	name, c.agent = c.Request.Flow()

	t.mu.Lock()
	now := t.now()
	c.entry, c.flow = e, e.flow(name)
	c.cost, c.passed, c.waits, c.queued = e.estimate(c.flow, c.bytes, maxTokens), 0, true, now
	if e.n == 0 {
		e.gone = now
	}
	e.push(c, now)
	e.enqueue(c)
	t.dispatch(e, now)
	if !c.waits {
		t.mu.Unlock()
		return nil
	}
	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}
	place := e.placeOf(c, now)
	t.mu.Unlock()
	c.Request.Waits(place)
	_, err := clock.Or(t.Clock).SleepOrWake(ctx, clock.Forever, c.wake)
	if err != nil {
		t.Close(c)
	}
	return err
}

// Now lets the request go if it waits. It reports whether it did.
func (t *Table) Now(c *Call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.waits {
		return false
	}
	now := t.now()
	c.roomy = false
	c.entry.letGo(t, c, now)
	t.dispatch(c.entry, now)
	return true
}

// NowAll lets all requests go that wait at an upstream.
func (t *Table) NowAll(upstream string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for k, e := range t.entries {
		if k.Upstream != upstream {
			continue
		}
		for e.n > 0 {
			for f := range e.order() {
				f.calls[0].roomy = false
				e.letGo(t, f.calls[0], now)
				break
			}
		}
		t.dispatch(e, now)
	}
}

// Place returns where the request waits; false: it does not.
func (t *Table) Place(c *Call) (Place, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.waits {
		return Place{}, false
	}
	return c.entry.placeOf(c, t.now()), true
}

// Paced reports whether the limits of its key hold the request back, so that Used is of use.
func (c *Call) Paced() bool { return c.entry != nil }

// Used notes what the answer has cost, for the estimates of the next requests of its flow.
func (t *Table) Used(c *Call, u Charged) {
	if u == (Charged{}) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.entry == nil {
		return
	}
	c.flow.bytes, c.flow.usage = c.bytes, u
	c.entry.learn(c.bytes, u)
}

// Close ends the request, whether it waits or is in flight. It may be called again.
func (t *Table) Close(c *Call) {
	if c.entry == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e, frees := c.entry, c.waits
	t.end(c)
	if frees {
		t.dispatch(e, t.now())
	}
}

// end takes the call out of the queue and of what is in flight. mu is held.
func (t *Table) end(c *Call) {
	switch {
	case c.entry == nil:
	case c.waits:
		c.waits = false
		c.entry.remove(c, false)
		c.entry.dequeue(c)
	case !c.sent.IsZero():
		c.entry.land(c)
		c.flow.inFlight--
		c.flow.idle = t.now()
	}
	c.sent = time.Time{}
	select {
	case <-c.wake:
	default:
	}
}

func (t *Table) now() time.Time { return clock.Or(t.Clock).Now() }
