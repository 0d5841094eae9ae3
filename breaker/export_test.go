package breaker

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// What a breaker says of a circuit.
type (
	News        = news
	CircuitName = circuitName
	What        = what
)

// The news.
const (
	Probing = probing
	Failed  = failed
	Known   = known
	Back    = back
	Answers = answers
)

// NewsOf returns what was put by a key; false: it is a load, or of none.
func NewsOf(key string, value []byte) (news, bool) {
	n, err := clock.Absolute[news](value, time.Now())
	return n, err == nil && n.Circuit.key() == key
}

// HearNews hears what another process has put just now.
func (b *Breaker) HearNews(from string, n news) {
	value, err := clock.Relative(n, b.now())
	if err != nil {
		panic(err)
	}
	b.Hear(from, n.Circuit.key(), value, 0)
}

// Left counts what the breaker still keeps: circuits, timers that are set, calls
// that wait, and by how much its count of degraded circuits is wrong.
func (b *Breaker) Left() (circuits, timers, calls, drift int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	drift = b.degraded
	for _, ci := range b.circuits {
		if ci.open {
			drift--
		}
		if ci.slowStart.on {
			drift--
		}
		if !ci.timerAt.IsZero() {
			timers++
		}
	}
	for _, q := range b.queues() {
		calls += q.n
	}
	if b.refill != nil && b.refill.Stop() {
		timers++
	}
	return len(b.circuits), timers, calls, drift
}

// The reasons of calls that wait, besides Paused.
const (
	InSlowStart  = inSlowStart
	NoRetryToken = noRetryToken
	InBackoff    = inBackoff
)

// BlockedBy returns the reason for which the call waits at this moment.
func (c *Caller) BlockedBy() BlockReason {
	c.breaker.mu.Lock()
	defer c.breaker.mu.Unlock()
	return c.why()
}

// Spacing returns the least time between two probes of an outage of that age.
func Spacing(age time.Duration) time.Duration {
	start := time.Unix(1_000_000, 0)
	ci := circuit{firstFault: start, probedAt: start.Add(age)}
	return ci.spacing()
}

// Budget is the retry budget.
type Budget struct{ b budget }

// Take takes a token.
func (b *Budget) Take(now time.Time) bool { return b.b.take(now, 1) }

// Give puts a token back.
func (b *Budget) Give() { b.b.give() }

// Next returns how long it takes until a token has come.
func (b *Budget) Next() time.Duration { return b.b.next(1) }

// Usual returns the usual rate after buckets with a given number of calls each, half a
// second apart.
func Usual(buckets ...int) float64 {
	var t traffic
	now := time.Unix(1_000_000, 0)
	for _, n := range buckets {
		for range n {
			t.arrive(now, false)
		}
		now = now.Add(bucketLength)
	}
	t.roll(now, false)
	return t.usual()
}

// Traffic returns how many calls have arrived in the present half second, the
// usual rate per second and the peak of the latest outage.
func (b *Breaker) Traffic() (current, usual, peak float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.traffic.bucket(0), b.traffic.usual(), b.traffic.peak
}

// Batches returns the first batches of a slow start of calls, beside a usual rate of
// calls per second. It slows down at a fault before batch faultAt.
func Batches(calls, n, faultAt int, usual float64) []float64 {
	b := &Breaker{traffic: traffic{sum: usual * bucketLength.Seconds() * settled, weight: settled}}
	ci := circuit{breaker: b, slowStart: slowStart{on: true, batch: 1, entered: calls, waited: calls, share: 1}}
	var all []float64
	for i := range n {
		if i == faultAt && faultAt > 0 {
			ci.slowStart.slowDown()
		}
		all = append(all, ci.batch())
		if !ci.slowStart.slowed {
			ci.slowStart.batch *= 2
		}
	}
	return all
}

// FailsInPart reports whether a given number of tries with a given number of faults are a partial failure.
func FailsInPart(tries, faults int) bool {
	w := window{tries: float64(tries), faults: float64(faults)}
	return w.failsInPart()
}

// RowToOpen returns how many faults in a row open a circuit after a given number of tries,
// of which a given number have failed.
func RowToOpen(tries, faults int) int { return RowToOpenAfter(0, tries, faults) }

// RowToOpenAfter is RowToOpen some time after those tries.
func RowToOpenAfter(d time.Duration, tries, faults int) int {
	now := time.Unix(1_000_000, 0)
	w := window{at: now}
	for i := range tries {
		w.begin()
		w.faults += float64((i+1)*faults/tries - i*faults/tries)
	}
	w.age(now.Add(d))
	row := 1
	for w.faults++; row < w.toOpen(row); w.faults++ {
		w.begin()
		row++
	}
	return row
}

// Cohort is a cohort whose time passes in moments.
type Cohort struct {
	h   cohort
	now time.Time
}

// NewCohort returns a cohort.
func NewCohort() *Cohort {
	now := time.Unix(1_000_000, 0)
	return &Cohort{newCohort(now), now.Add(momentLength)}
}

// Pass has moments pass.
func (c *Cohort) Pass(n int) { c.now = c.now.Add(time.Duration(n) * momentLength) }

// Begin begins a try.
func (c *Cohort) Begin() { c.h.begin(momentOf(c.now)) }

// ago is a moment before this one.
func (c *Cohort) ago(n int) moment { return momentOf(c.now) - moment(n) }

// Refuse refuses a try that began some moments ago.
func (c *Cohort) Refuse(ago int) {
	c.h.end(c.ago(ago))
	c.h.refuse(c.ago(ago), momentOf(c.now))
}

// Answer answers it.
func (c *Cohort) Answer(ago int) { c.h.answer(c.ago(ago)) }

// End ends it without an outcome.
func (c *Cohort) End(ago int) { c.h.end(c.ago(ago)) }

// Row returns how many of the latest tries were refused.
func (c *Cohort) Row() int {
	c.h.advance(momentOf(c.now))
	n, _, _ := c.h.row()
	return n
}

// Remembered counts the other processes of which something is remembered, and the circuits in which calls wait there.
func (b *Breaker) Remembered() (processes, circuits int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.others {
		circuits += len(o.waits)
	}
	return len(b.others), circuits
}
