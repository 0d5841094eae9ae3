package breaker

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
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

	aloneToLeave = 5 // a call that has failed so often while others were answered is no sign of an outage
	aloneToEnd   = 8 // and after so many tries it ends
	othersToTell = 3 // so many answers to others tell,
	timesToTell  = 2 // that came between so many of its tries
	leaveChance  = 1e-4
	endChance    = 1e-6 // that so many failures are chance, by the share of the others' tries that fail

	sameTimeToEnd = 3               // a call ends after so many tries in a row that have ended after the same time
	shortestLimit = 2 * time.Second // which is a limit, and no refusal
)

// record is what is known of the calls with a scope.
type record struct {
	answered time.Time // the latest answer; zero: none, or its key or model has been refused since
	answers  int       // to tries that began while a fault of the upstream was remembered
	faults   int       // tries that have failed
}

// met is what a call has met.
type met struct {
	last   *fault.Error // the latest fault, its own or another call's
	doubts int          // refusals that were doubted

	alone  int     // tries in a row that have failed outside of an outage
	mine   int     // of them, those that count among the faults of its scope
	backed int     // of them, those with an answer to another call since the one before
	from   record  // of its scope, when the row began
	of     *record // that record
	seen   int     // its answers at the latest try
	leaves bool    // it is the call, not its upstream: its faults count in no circuit

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

// meet returns what the call has met, to be added to.
func (c *Caller) meet() *met {
	if c.met == nil {
		c.met = new(met)
	}
	return c.met
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
		maps.DeleteFunc(b.records, func(_ Scope, r *record) bool { return now.Sub(r.answered) >= acceptedFor })
	}
	if len(b.records) >= maxCircuits {
		return nil
	}
	r := new(record)
	b.records[s] = r
	return r
}

// noteAnswer notes an answer to a try; beside: it began while a fault of the upstream was remembered. Only that one tells
// that the upstream answers others since.
func (b *Breaker) noteAnswer(s Scope, beside bool, now time.Time) {
	r := b.recordOf(s, now)
	if r == nil {
		return
	}
	if r.answered = now; beside {
		r.answers++
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
	case m.failsAlone(b.recordOf(c.scope, now), f, outage, now):
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
func (m *met) failsAlone(r *record, f *fault.Error, outage bool, now time.Time) bool {
	passing := fault.Transient.With(fault.Unknown).Has(f.Kind) && (f.Kind != fault.Timeout || f.Code != "")
	if r == nil || outage || !passing || f.RetryAfter(now) > 0 {
		m.alone, m.leaves = 0, false
		return false
	}
	if m.alone == 0 || m.of != r {
		m.alone, m.mine, m.backed, m.of, m.from, m.seen = 0, 0, 0, r, *r, r.answers
	}
	m.alone++
	if r.answers > m.seen {
		m.backed++
	}
	m.seen = r.answers
	answers, faults := r.answers-m.from.answers, r.faults-m.from.faults-m.mine
	usual := (float64(faults) + 0.5) / float64(answers+faults+1)
	chance := math.Pow(usual, float64(m.alone))
	if m.leaves = m.alone >= aloneToLeave && answers >= othersToTell && chance < leaveChance; !m.leaves {
		r.faults++
		m.mine++
	}
	return m.alone >= aloneToEnd && m.backed >= timesToTell && chance < endChance
}

// endsAtLimit counts a failure, and reports whether so many in a row came after the same time that it is a time limit on
// the way that ends each try. began is when the try did; zero: that is not known.
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
		b.noteAnswer(w.scope, false, now)
	case f.Doubtful:
		return b.doubt(w.scope, &w.met, f, now)
	}
	return f
}
