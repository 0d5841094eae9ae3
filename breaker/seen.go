package breaker

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/retry"
)

// What the calls of an upstream have seen of it tells the trouble of one call from that of its upstream. It is kept by
// scope, so that no call is judged by the answers to another key.
const (
	acceptedFor = 5 * time.Minute // for so long after an answer a refusal of its key or model is doubted
	keyDoubts   = 2               // so often in a call: its client may have another key
	modelDoubts = 3

	aloneToLeave = 5     // a call that has failed so often while others were answered is no sign of an outage
	aloneToEnd   = 8     // and after so many tries it ends
	othersToTell = 3     // so many answers to others tell
	timesToTell  = 2     // if one was to a try beside so many of its own,
	seldom       = 0.025 // or if no larger share of the others' tries fails: in a burst all are beside its first
	leaveChance  = 1e-4
	endChance    = 1e-6 // that so many failures are chance, by that share
	maxAlone     = 64   // calls with a scope that are told of the others

	sameTimeToEnd = 3               // a call ends after so many tries in a row that have ended after the same time
	shortestLimit = 2 * time.Second // which is a limit, and no refusal
)

// order numbers the tries of a breaker as they begin.
type order uint32

// before reports whether a try began before another one.
func (o order) before(other order) bool { return int32(o-other) < 0 }

// record is what is known of the calls with a scope.
type record struct {
	answered time.Time // the latest answer; zero: none, or its key or model has been refused since
	alone    []*met    // of the calls that fail outside of an outage
}

// met is what a call has met.
type met struct {
	last   *fault.Error // the latest fault, its own or another call's
	shared bool         // another call's among them
	before int          // tries that had failed in a row when it met its first, in an outage that lasted then
	doubts int          // refusals that were doubted

	alone         int     // tries in a row that have failed outside of an outage
	of            *record // that has the call among those that fail alone; nil: none
	first, latest order   // of the row
	answers       int     // since the row began, to other calls' tries that began after its first one
	faults        int     // of other calls' tries since then
	beside        bool    // one of the answers was to a try that began after the latest one
	backed        int     // tries of the row of which that was true
	leaves        bool    // it is the call, not its upstream: its faults count in no circuit

	took time.Duration // of the latest try that ended like one at a time limit
	same int           // how many did in a row, after that time
}

// last returns the latest fault that the call has met; nil: none.
func (c *Caller) last() *fault.Error {
	if c.met == nil {
		return nil
	}
	return c.met.last
}

// leaves reports whether it is the call that fails, and not its upstream.
func (c *Caller) leaves() bool { return c.met != nil && c.met.leaves }

// endRow ends the row of tries that have failed alone.
func (c *Caller) endRow() {
	if c.met != nil {
		c.met.unwatch()
	}
}

// meet returns what the call has met, to be added to.
func (c *Caller) meet(now time.Time) *met {
	if c.met == nil {
		c.met = new(met)
		if ci := c.breaker.outage(c); ci != nil && ci.lasts(now) {
			c.met.before = ci.faults
		}
	}
	return c.met
}

// inRow returns how many tries in a row have failed since a call met its first fault, in an outage that lasts; 0: none does.
func (b *Breaker) inRow(c *Caller, now time.Time) int {
	ci := b.outage(c)
	if ci == nil || !ci.lasts(now) {
		return 0
	}
	if ci.faults < c.met.before { // it is another row
		c.met.before = 0
	}
	return ci.faults - c.met.before
}

// recordOf returns the record of a scope; nil: there are too many that are still of use.
func (b *Breaker) recordOf(s Scope, now time.Time) *record {
	if r := b.records[s]; r != nil {
		return r
	}
	if b.records == nil {
		b.records = map[Scope]*record{}
	}
	if len(b.records) >= maxCircuits {
		maps.DeleteFunc(b.records, func(_ Scope, r *record) bool { return now.Sub(r.answered) >= acceptedFor && len(r.alone) == 0 })
	}
	if len(b.records) >= maxCircuits {
		return nil
	}
	r := new(record)
	b.records[s] = r
	return r
}

// noteAnswer notes an answer to a call.
func (b *Breaker) noteAnswer(s Scope, now time.Time) {
	if r := b.recordOf(s, now); r != nil {
		r.answered = now
	}
}

// tellAlone tells the calls that fail alone of an answer to another call's try. One to a try from before their own tells
// nothing: the last answers before an outage come in its course.
func (b *Breaker) tellAlone(c *Caller) {
	r := b.records[c.scope]
	if r == nil {
		return
	}
	for _, m := range r.alone {
		if !m.first.before(c.order) {
			continue
		}
		if m.answers++; !m.beside && m.latest.before(c.order) {
			m.beside = true
			m.backed++
		}
	}
}

// answeredAt returns when a call with the scope was answered last; zero: not that it is known.
func (b *Breaker) answeredAt(s Scope) (at time.Time) {
	if r := b.records[s]; r != nil {
		at = r.answered
	}
	return at
}

// doubt returns a fault that refuses a key or a model, as one worth another try if the same was accepted a moment ago.
// After some such tries it is believed, and the next call with the key or model is refused at once.
func (b *Breaker) doubt(s Scope, m *met, f *fault.Error, now time.Time) *fault.Error {
	most, accepted := modelDoubts, []*record{b.records[s]}
	if f.Kind == fault.Auth {
		most, accepted = keyDoubts, nil
		for of, r := range b.records {
			if of.Credential == s.Credential {
				accepted = append(accepted, r)
			}
		}
	}
	known := false
	for _, r := range accepted {
		known = known || r != nil && now.Sub(r.answered) < acceptedFor
	}
	if !known {
		return f
	}
	if m.doubts++; m.doubts <= most {
		doubted := *f
		doubted.Doubted = m.doubts
		return &doubted
	}
	for _, r := range accepted {
		if r != nil {
			r.answered = time.Time{}
		}
	}
	return f
}

// judge returns the fault of a call with what the calls beside it, and its own tries before, show about it.
func (b *Breaker) judge(c *Caller, f *fault.Error, now time.Time) *fault.Error {
	m, outage, why := c.met, b.outage(c) != nil, ""
	switch {
	case f.Doubtful:
		return b.doubt(c.scope, m, f, now)
	case m.failsAlone(b.recordOf(c.scope, now), f, c.order, outage, now):
		why = strconv.Itoa(m.alone) + " tries have failed while other requests were answered: it is this one, not the provider"
	case m.endsAtLimit(f, c.began, now) && !outage:
		why = strconv.Itoa(m.same) + " tries in a row have ended after the same " + m.took.Round(time.Second).String() + ": a limit on the way ends each"
	default:
		return f
	}
	judged := *f
	judged.Final, judged.Why = true, why
	return &judged
}

// failsAlone counts a failure, and reports whether the call is to end, since it is the call that fails. In an outage no
// failure is its own. One with a stated wait is about how much was asked for.
func (m *met) failsAlone(r *record, f *fault.Error, began order, outage bool, now time.Time) (ends bool) {
	passing := fault.Transient.With(fault.Unknown).Has(f.Kind) && (f.Kind != fault.Timeout || f.Code != "")
	if r == nil || outage || !passing || f.RetryAfter(now) > 0 {
		m.unwatch()
		return false
	}
	if m.of == nil && len(r.alone) < maxAlone {
		m.of, m.first = r, began
		r.alone = append(r.alone, m)
	}
	if m.of != nil {
		m.alone, m.latest, m.beside = m.alone+1, began, false
		usual := (float64(m.faults) + 0.5) / float64(m.answers+m.faults+1)
		chance := math.Pow(usual, float64(m.alone))
		m.leaves = m.alone >= aloneToLeave && m.answers >= othersToTell && chance < leaveChance
		ends = m.leaves && m.alone >= aloneToEnd && chance < endChance && (m.backed >= timesToTell || usual < seldom)
	}
	for _, other := range r.alone {
		if other != m && !m.leaves {
			other.faults++
		}
	}
	return ends
}

// unwatch ends the row of tries that have failed alone.
func (m *met) unwatch() {
	if m.of != nil {
		m.of.alone = slices.DeleteFunc(m.of.alone, func(other *met) bool { return other == m })
	}
	m.alone, m.of, m.answers, m.faults, m.backed, m.leaves = 0, nil, 0, 0, 0, false
}

// endsAtLimit counts a failure, and reports whether enough tries in a row have failed after the same time to show a
// time limit on the way to the upstream. began is when the try began; zero: unknown.
func (m *met) endsAtLimit(f *fault.Error, began moment, now time.Time) bool {
	limit := f.Kind == fault.UpstreamTimeout && f.Status != 0 || errors.Is(f.Err, io.EOF) || errors.Is(f.Err, io.ErrUnexpectedEOF)
	took := began.age(now)
	if !limit || began == 0 || took < shortestLimit {
		m.same = 0
		return false
	}
	if apart := (took - m.took).Abs(); apart > 2*momentLength+took/50 {
		m.same = 0
	}
	m.took = took
	m.same++
	return m.same >= sameTimeToEnd
}

// Witness is the Breaker of the retry.Retrier of a call that goes whatever the circuits say, such as for an embedding. It
// notes what is answered, and doubts a refusal of it.
type Witness struct {
	breaker *Breaker
	scope   Scope
	met     met
}

// Witness returns the Witness of one logical call.
func (b *Breaker) Witness(s Scope) *Witness { return &Witness{breaker: b, scope: s} }

// Acquire implements retry.Breaker: the call goes at once.
func (w *Witness) Acquire(context.Context) (retry.Permit, error) { return w, nil }

// Wait implements retry.Breaker.
func (w *Witness) Wait(ctx context.Context, d time.Duration) error {
	_, err := clock.Or(w.breaker.Clock).SleepOrWake(ctx, d, nil)
	return err
}

// Report implements retry.Permit.
func (w *Witness) Report(f *fault.Error) *fault.Error {
	b := w.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	switch now := b.now(); {
	case f == nil:
		b.noteAnswer(w.scope, now)
	case f.Doubtful:
		return b.doubt(w.scope, &w.met, f, now)
	}
	return f
}
