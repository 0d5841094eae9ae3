package ratelimit

import (
	"math"
	"math/bits"
	"sort"
	"time"
)

// concurrency is how many requests of a key may be in flight at a provider that states no limits: a server of one's own
// answers so many at a time, and the others wait there.
//
// A request has waited there if its answer began later than usual. What is usual depends on the size of the prompt, or of
// what is new in it, and is known from requests that were sent while few others were in flight. The share of their time
// in flight that requests have waited is the share of them that is too many, by Little's law: the limit is lowered by
// that, and grows where there is none.
type concurrency struct {
	limit    float64
	inFlight int
	peak     int         // the most in flight since the limit has changed
	changed  time.Time   // the answers to earlier requests say nothing of the limit
	settled  bool        // it was lowered: it grows slowly from then on
	held     float64     // the seconds that the latest requests were in flight
	usual    [64]float64 // the logarithm of the seconds until an answer begins, by the size of the prompt
	known    uint64      // which of these are, a bit each
	seen     []beginning // since it was looked at
	doubtful bool        // when it was looked at last, answers began late: once may be chance
}

// beginning is by how much later than usual an answer has begun.
type beginning struct {
	size  int     // of its prompt, as a power of two
	ratio float64 // a logarithm
	wait  float64 // in seconds
}

// The rules of a limit of concurrency.
const (
	firstAtOnce  = 4
	mostAtOnce   = 1000
	fewAtOnce    = 0.25 // of the limit: what is sent among so few shows what is usual
	leastSample  = 8    // answers after which the limit is looked at
	mostSample   = 20
	lateRatio    = 1.5  // of what is usual is late
	lateShare    = 0.1  // of the time in flight too
	latestWeight = 0.2  // of the latest answer in what is usual
	farthest     = 0.5  // so much of it counts: a prompt that is in no cache takes many times as long
	relative     = 0.05 // by so much is what is usual for a size corrected by that of others
	deepestCut   = 0.3  // of a settled limit
	slowGrowth   = 0.1
	afterRefusal = 0.7 // of the requests in flight are not too many
)

// most returns how many may be in flight while a share is kept.
func (k *concurrency) most(keep float64) int {
	return max(1, int(math.Round(k.limit*(1-keep))))
}

// begin counts a request that is sent.
func (k *concurrency) begin(c *Call) {
	k.inFlight++
	k.peak = max(k.peak, k.inFlight)
	c.occupies, c.among = true, k.inFlight
}

// end counts a request that is no longer in flight.
func (k *concurrency) end(c *Call, now time.Time) {
	if !c.occupies {
		return
	}
	c.occupies = false
	k.inFlight--
	if !c.begun {
		return
	}
	c.begun = false
	if took := now.Sub(c.sent).Seconds(); k.held == 0 {
		k.held = took
	} else {
		k.held += latestWeight * (took - k.held)
	}
}

// answer notes that an answer has begun after a time.
func (k *concurrency) answer(c *Call, took time.Duration, now time.Time) {
	c.begun = true
	seconds := max(took, time.Millisecond).Seconds()
	x, size := math.Log(seconds), bits.Len64(uint64(c.grown))
	usual := &k.usual[size]
	known := k.known&(1<<size) != 0
	if !known {
		*usual = min(x, k.nearest(size))
		k.known |= 1 << size
	}
	if !c.sent.Before(k.changed) {
		k.seen = append(k.seen, beginning{size, x - *usual, seconds - math.Exp(*usual)})
	}
	if known && float64(c.among) <= max(1, fewAtOnce*k.limit) {
		*usual += latestWeight * min(max(x-*usual, -farthest), farthest)
	}
	if len(k.seen) >= min(max(leastSample, k.most(0)), mostSample) {
		k.judge(now)
	}
}

// nearest returns what is usual at the most for a size by what is for others: it grows no faster than the size.
func (k *concurrency) nearest(size int) float64 {
	least := math.Inf(1)
	for other := range k.usual {
		if k.known&(1<<other) != 0 {
			least = min(least, k.usual[other]+max(0, float64(size-other))*math.Ln2)
		}
	}
	return least
}

// judge sets the limit by the answers that have begun since it was set.
func (k *concurrency) judge(now time.Time) {
	ratio := median(k.seen, func(b beginning) float64 { return b.ratio })
	wait := median(k.seen, func(b beginning) float64 { return b.wait })
	before, share := k.limit, 0.0
	if k.held > 0 {
		share = min(wait/k.held, 0.9)
	}
	late, doubtful := k.mostAreLate(), k.doubtful
	k.doubtful = late
	switch {
	case late && doubtful:
		if k.settled {
			share = min(share, deepestCut)
		}
		k.settled = true
		k.limit = max(1, min(k.limit, float64(k.peak))*(1-share))
	case late || k.peak < k.most(0):
	case k.settled:
		k.limit += max(1, k.limit*slowGrowth)
	default:
		k.limit *= 2
	}
	if ratio < -math.Log(lateRatio) || late && before <= 1.5 { // it has become faster, or slower: one alone waits for no other
		for size := range k.usual {
			k.usual[size] += ratio / 2
		}
	}
	if !late {
		k.compare(ratio)
	}
	k.limit = min(k.limit, mostAtOnce)
	k.reset(before, now)
}

// mostAreLate reports whether most answers have begun late.
func (k *concurrency) mostAreLate() bool {
	late := 0
	for _, b := range k.seen {
		if b.ratio > math.Log(lateRatio) && b.wait > lateShare*k.held {
			late++
		}
	}
	return k.held > 0 && late > len(k.seen)/2
}

// compare corrects what is usual for each size by that of the others. Over all sizes it stays what it is.
func (k *concurrency) compare(median float64) {
	var above, below float64
	for _, b := range k.seen {
		switch {
		case b.ratio > median:
			above++
		case b.ratio < median:
			below++
		}
	}
	for _, b := range k.seen {
		switch {
		case b.ratio > median:
			k.usual[b.size] += relative * min(1, below/above)
		case b.ratio < median:
			k.usual[b.size] -= relative * min(1, above/below)
		}
	}
}

// refuse lowers the limit after a refusal for too many requests, or a try that has taken too long. That of one alone
// has another reason.
func (k *concurrency) refuse(c *Call, now time.Time) {
	if c.sent.Before(k.changed) || c.among == 1 {
		return
	}
	before := k.limit
	k.settled = true
	k.limit = max(1, min(k.limit, float64(k.peak))*afterRefusal)
	k.reset(before, now)
}

// reset forgets what was seen at the limit before.
func (k *concurrency) reset(before float64, now time.Time) {
	k.seen, k.peak = k.seen[:0], k.inFlight
	if k.limit != before {
		k.changed = now
	}
}

// median returns the value in the middle.
func median(of []beginning, value func(beginning) float64) float64 {
	sort.Slice(of, func(i, j int) bool { return value(of[i]) < value(of[j]) })
	return value(of[len(of)/2])
}

// Outcome is what has become of a try.
type Outcome int

// The outcomes of a try.
const (
	Began      Outcome = iota // its answer has begun
	Failed                    // it has failed
	Overloaded                // it has failed for what too many in flight make: a refusal of that kind, or a timeout
)

// Tried notes the outcome of a try of a request that is Adaptive, after a time. It is no longer in flight if it has failed.
func (t *Table) Tried(c *Call, o Outcome, took time.Duration) {
	if !c.Adaptive || c.entry == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	k := c.entry.concurrency
	switch {
	case !c.occupies:
	case o == Began:
		k.answer(c, took, now)
	default:
		if o == Overloaded {
			k.refuse(c, now)
		}
		k.end(c, now)
	}
	t.dispatch(c.entry, now)
}

// Yield notes that a request which has gone is held back elsewhere, such as by a circuit breaker: others go meanwhile.
func (t *Table) Yield(c *Call) {
	if !c.Adaptive || c.entry == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.occupies {
		c.entry.concurrency.end(c, t.now())
		t.dispatch(c.entry, t.now())
	}
}

// Resume notes that a request which has yielded goes after all.
func (t *Table) Resume(c *Call) {
	if !c.Adaptive || c.entry == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.occupies && !c.sent.IsZero() {
		c.sent = t.now()
		c.entry.concurrency.begin(c)
	}
}

// adapts reports whether the call waits until few enough are in flight.
func (e *entry) adapts(c *Call) bool { return c.Adaptive && !e.paces }

// crowded reports whether too many are in flight for another call.
func (e *entry) crowded(c *Call) bool {
	return e.adapts(c) && e.concurrency.inFlight >= e.concurrency.most(c.keeps())
}

// atOnce returns the limit of concurrency as others are shown.
func (k *concurrency) atOnce(now time.Time) Limit {
	most := k.most(0)
	left := max(0, most-k.inFlight)
	return Limit{
		Name: "at-once", Unit: AtOnce, Limit: float64(most), Remaining: float64(left), Used: 1 - float64(left)/float64(most), Seen: now,
	}
}

// turnIn returns how long it takes until so many others and the call itself have gone.
func (k *concurrency) turnIn(ahead int) time.Duration {
	return time.Duration(float64(ahead+1) * k.held / float64(k.most(0)) * float64(time.Second))
}
