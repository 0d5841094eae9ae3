package ratelimit

import (
	"math"
	"net/http"
	"time"
)

// The rules of a bucket.
const (
	longest   = 5 * time.Minute        // a longer window is used up, not spread over its time
	margin    = 0.02                   // of the limit is left unused: what we know is some milliseconds old
	surprises = 2                      // refusals in spite of room, after which a limit comes back all at once, if it says so
	patience  = 5                      // so many windows for each of these does that hold without being said
	absurd    = 3                      // so many times the limit was answered in a window: it is not the limit
	rounding  = 250 * time.Millisecond // so much before all comes back may it be stated to do so: then all that waits would be refused
	jitter    = 500 * time.Millisecond // by so much may requests overtake one another on their way
	distrust  = 10 * time.Minute       // for so long is a limit not believed then
)

// bucket is what is left of a limit between two answers that state it. It refills at the rate of the limit, as the
// vendors' own do, or all at once at its reset.
type bucket struct {
	limit, left, rate float64 // rate: per second; 0: the limit holds nothing back
	at                time.Time
	charged           float64    // so much has been let go in all
	flying            float64    // of that, what has not been answered
	before            [2]float64 // charged when the jitter before began, and when this one did
	began             time.Time  // this jitter
	windowed          windowed   // whether it is stated to come back all at once
	surprises         int        // refusals in spite of room
	stepped           time.Time  // when it was last not stated to come back little by little
	reset             time.Time  // when all of it comes back at once; zero: little by little
	doubted           time.Time  // until when it is not believed
	answered          [2]float64
	counted           time.Time // when answered[1] began
	asOf              time.Time // what is stated may be of then: what went later counts
	others            *history  // what the others have let go; nil: nothing
}

// state notes what an answer states. mark is what had been charged when its request was sent, then.
func (b *bucket) state(l Limit, mark float64, sent, now time.Time) {
	if l.Window > longest || l.Unit == Usage {
		return
	}
	window := l.Window
	if window == 0 {
		window = time.Minute
	}
	if b.windowed.note(&l, window, sent) {
		return
	}
	b.limit, b.rate = l.Limit, l.Limit/window.Seconds()
	left := l.Remaining
	if !sent.IsZero() { // it may have been stated then, or now; nothing comes back to a limit that is whole
		left = min(left, min(b.limit, left+b.refilled(now.Sub(sent)))-(b.charged-mark)-b.others.since(sent, now))
	}
	b.asOf = now
	if !sent.IsZero() {
		b.asOf = sent
	}
	if !l.littleByLittle(window) {
		b.stepped = now
	}
	b.left, b.at, b.reset = max(0, left), now, time.Time{}
	switch {
	case !b.atOnce(window, now):
	case l.Reset.IsZero():
		b.reset = now.Add(window)
	default:
		b.reset = l.Reset.Add(rounding)
	}
}

// atOnce reports whether the limit comes back all at once: its resets say so, or what was refused.
func (b *bucket) atOnce(window time.Duration, now time.Time) bool {
	refuted := now.Sub(b.stepped) > time.Duration(b.surprises)*patience*window
	return b.windowed.found || b.surprises >= surprises && !refuted
}

// littleByLittle reports whether the limit comes back so: then all of it is there after the share of the window that
// is used.
func (l *Limit) littleByLittle(window time.Duration) bool {
	left := max(0, l.Reset.Sub(l.Seen).Seconds()) // of a zero Reset too: it may be whole
	return math.Abs(left-l.Used*window.Seconds()) < 1+margin*window.Seconds()
}

// refilled returns what comes back in a time.
func (b *bucket) refilled(d time.Duration) float64 {
	if !b.reset.IsZero() {
		return 0
	}
	return b.rate * max(0, d.Seconds())
}

// pace notes a limit that the answer to a call states. The call was charged if charged is true, and place is where
// its marks have the limit.
func (k *known) pace(c *Call, charged bool, uncounted amount, status int, l *Limit, place int, now time.Time) {
	if !charged { // what went after it was not either, until a limit was known
		k.state(*l, c.before.of(l.Unit)-uncounted.of(l.Unit), c.sent, now)
		return
	}
	cost := c.cost.of(l.Unit)
	switch {
	case status == http.StatusTooManyRequests:
		k.refuse(c.roomy, *l, cost)
	case status < http.StatusBadRequest:
		k.answer(cost, now)
	}
	k.state(*l, c.marks[place], c.sent, now)
}

// review notes what the limits of a key mean for its requests.
func (e *entry) review() {
	e.paces, e.countsMax = false, false
	total, input := false, false
	for i := range e.limits[:e.known] {
		k := &e.limits[i]
		e.paces = e.paces || k.rate > 0
		total, input = total || k.Unit == Tokens, input || k.Unit == InputTokens
	}
	e.countsMax = total && !input && e.cheap < cheapEnough // as OpenAI does, and Anthropic does not
}

// cheapEnough is how many answers in a row show that only the answer that a request gets is charged.
const cheapEnough = 3

// compare compares what a call was charged with what was expected, if no other was charged meanwhile.
func (e *entry) compare(c *Call, k *known, l *Limit, place int, now time.Time) {
	cost := c.cost.of(Tokens)
	if e.cheap >= cheapEnough || !c.alone || k.charged != c.marks[place] || cost < margin*l.Limit {
		return
	}
	if took := min(k.limit, c.had+k.refilled(now.Sub(c.sent))) - l.Remaining; took < cost/2 {
		e.cheap++
	} else {
		e.cheap = 0
	}
}

// leftAt returns how much is left at a time.
func (b *bucket) leftAt(now time.Time) float64 {
	switch {
	case b.reset.IsZero():
		return min(b.limit, b.left+b.refilled(now.Sub(b.at)))
	case now.Before(b.reset):
		return b.left
	}
	return b.limit
}

// charge takes a cost. It returns what had been charged a moment before: what went since may reach the provider
// later than this.
func (b *bucket) charge(cost float64, now time.Time) (mark float64) {
	switch since := now.Sub(b.began); {
	case since >= 2*jitter:
		b.before, b.began = [2]float64{b.charged, b.charged}, now
	case since >= jitter:
		b.before, b.began = [2]float64{b.before[1], b.charged}, now
	}
	b.take(cost, now)
	mark = max(b.before[0], b.charged-b.flying) // what is answered has reached it
	b.charged += cost
	b.flying += cost
	return mark + cost
}

// take takes a cost from what is left.
func (b *bucket) take(cost float64, now time.Time) {
	if !now.Before(b.reset) && !b.reset.IsZero() {
		b.reset = now.Add(time.Duration(b.limit / b.rate * float64(time.Second))) // until the next answer states another
		b.left = b.limit
	} else {
		b.left = b.leftAt(now)
	}
	b.left, b.at = max(0, b.left-cost), now
}

// wait returns how long it takes until a cost may be charged while a share of the limit is kept. What exceeds the
// limit is charged as all of it.
func (b *bucket) wait(cost, keep float64, now time.Time) time.Duration {
	if now.Before(b.doubted) {
		return 0
	}
	keep = min(0.9, keep)
	return b.until(min(cost, (1-keep-margin)*b.limit), keep, now)
}

// until is wait for any cost, and for a limit that is not believed too.
func (b *bucket) until(cost, keep float64, now time.Time) time.Duration {
	lacks := cost + (keep+margin)*b.limit - b.leftAt(now)
	switch {
	case b.rate == 0 || lacks < b.limit*1e-6: // or it would wait for the rounding
		return 0
	case b.reset.IsZero():
		return time.Duration(lacks/b.rate*float64(time.Second)) + time.Millisecond
	}
	return max(0, b.reset.Sub(now))
}

// answer counts what was answered, and stops believing a limit that much more was answered than.
func (b *bucket) answer(cost float64, now time.Time) {
	if b.rate == 0 {
		return
	}
	window := time.Duration(b.limit / b.rate * float64(time.Second))
	switch age := now.Sub(b.counted); {
	case age >= 2*window:
		b.answered, b.counted = [2]float64{}, now
	case age >= window:
		b.answered, b.counted = [2]float64{b.answered[1], 0}, b.counted.Add(window)
	}
	b.answered[1] += cost
	if b.answered[0]+b.answered[1] > absurd*2*b.limit {
		b.doubted = now.Add(distrust)
		b.answered = [2]float64{}
	}
}

// refuse notes a refusal for its rate, at a cost that there seemed to be room for: then the limit is believed, and
// if that happens again, it comes back all at once at its reset.
func (b *bucket) refuse(hadRoom bool, l Limit, cost float64) {
	b.doubted, b.answered = time.Time{}, [2]float64{}
	if hadRoom && b.rate > 0 && l.Remaining < cost {
		b.surprises++
	}
}
