package breaker

import (
	"cmp"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// report takes in the outcome of a call's try, and returns it with what other calls show about it.
func (b *Breaker) report(c *Caller, f *fault.Error, now time.Time) *fault.Error {
	if !c.inFlight {
		return f
	}
	c.inFlight, c.detached = false, true
	b.traffic.roll(now, b.degraded > 0)
	if now.Sub(b.aged) >= bucketLength {
		b.ageWindows(now)
	}
	if c.tries++; c.tries == 1 || f == nil { // a retry that was answered has cost nothing
		b.budget.give()
		b.spend(now)
	}
	switch {
	case f == nil:
		b.answered = now
		b.noteAnswer(c.scope, now)
		c.endRow()
		b.tellAlone(c)
		b.success(c, now)
	case f.GivenUp: // the gateway on the way decides for its callers, and tells them apart
		b.endInCohorts(c)
	default:
		b.endInCohorts(c)
		bare := *f
		bare.Err, bare.Body = nil, "" // they may hold something open, or much
		c.meet(now).last = &bare
		if f = b.judge(c, f, now); !c.leaves() {
			b.failure(c, &bare, now)
			if row := b.inRow(c, now); row > 0 && c.met.shared && levelOf(f) != none {
				among := *f
				among.InRow, f = row, &among
			}
		}
	}
	b.endProbe(c, now)
	return f
}

// Recall counts the fault that a call met in an earlier process, which had no answer since. Nothing is counted once a call
// of this process was answered, or while the circuit is open already.
func (b *Breaker) Recall(s Scope, f *fault.Error) {
	l := levelOf(f)
	b.mu.Lock()
	defer b.mu.Unlock()
	if now, c := b.now(), (&Caller{breaker: b, scope: s}); l != none && b.answered.IsZero() && !b.circuit(c.key(l), now).open {
		b.failure(c, f, now)
	}
}

// endProbe takes from the call that it is a probe. If it has told nothing, the
// next probe may go.
func (b *Breaker) endProbe(c *Caller, now time.Time) {
	if !c.probes {
		return
	}
	c.probes = false
	for _, ci := range b.of(c) {
		if ci != nil && ci.probe == c {
			ci.probe = nil
			ci.advance(now)
			ci.forget()
		}
	}
}

// endInCohorts takes a try that has ended without an answer out of the cohorts.
func (b *Breaker) endInCohorts(c *Caller) {
	for _, ci := range b.of(c) {
		if ci != nil {
			ci.cohort.end(c.began)
		}
	}
}

// success closes the circuits of the call.
func (b *Breaker) success(c *Caller, now time.Time) {
	var free []*Caller
	var widest *circuit
	for _, ci := range b.of(c) {
		if ci == nil || ci.open && !ci.cooldown.IsZero() && !ci.cooldownFrom.before(c.order) {
			continue // an answer to a call from before the cooldown
		}
		if ci.precedesOutage(c.began) {
			continue // or from before the outage
		}
		if ci.open && widest == nil {
			widest = ci
		}
		if c.resumes {
			ci.earlyRetryGap /= 2
		}
		free = append(free, ci.recover(c.began, now)...)
	}
	if widest != nil {
		b.release(free, widest.key, now)
	}
}

// recover closes the circuit after a try was answered, and returns the calls that waited for that.
func (ci *circuit) recover(began moment, now time.Time) (free []*Caller) {
	ci.answered, ci.presumedAt = now, time.Time{}
	return ci.back(began, now)
}

// back closes the circuit after a try that was accepted, which is no proof yet.
func (ci *circuit) back(began moment, now time.Time) (free []*Caller) {
	ci.cohort.answer(began)
	switch {
	case ci.open:
		ci.tellBack(began, now)
	case !ci.suspected.IsZero():
		ci.tellAnswers(now)
	}
	return ci.end(now)
}

// end closes the circuit without telling the others.
func (ci *circuit) end(now time.Time) (free []*Caller) {
	ci.faults, ci.silences, ci.outageFrom, ci.changed = 0, 0, 0, now
	if ci.open {
		stated := ci.statedWait()
		ci.close()
		if free = append(ci.awaitingProbe.drain(), ci.sleeping.drain()...); stated {
			slices.SortStableFunc(free, (*Caller).before)
		}
	}
	ci.setTimer(now)
	ci.forget()
	return free
}

// before orders calls by when they began to wait. A stated wait ends for all of them in the same moment, in which
// they wake in any order.
func (c *Caller) before(other *Caller) int {
	const never = 1<<63 - 1 // it has not waited at all
	begun := func(c *Caller) int64 { return cmp.Or(max(c.sleptAt, -c.sleptAt), never) }
	return cmp.Compare(begun(c), begun(other))
}

// failure counts a fault in the circuit that it is about.
func (b *Breaker) failure(c *Caller, f *fault.Error, now time.Time) {
	if hostAnswers.Has(f.Kind) {
		b.hostAnswered(c, now)
	}
	l := levelOf(f)
	if l == none {
		return
	}
	b.faulted = true
	ci := b.circuit(c.key(l), now)
	ci.count(c, f, now)
	if !ci.recent.failsInPart() {
		b.slowDown(c, now)
	}
	ci.failed(c, f, l, now)
	if l == host && !c.ModelOnly && !ci.several { // so far it may be the model's
		own := b.circuit(c.key(model), now)
		own.count(c, f, now)
		own.failed(c, f, l, now)
	}
}

// hostAnswered closes the circuits of a call that only faults of the host have opened.
func (b *Breaker) hostAnswered(c *Caller, now time.Time) {
	for _, at := range []key{c.key(host), c.key(model)} {
		if ci := b.circuits[at]; ci != nil && ci.faults > 0 && ci.ofHost {
			b.release(ci.recover(momentOf(now), now), at, now)
		}
	}
}

// failed opens the circuit after a fault, where that suffices, or notes the fault of a probe.
func (ci *circuit) failed(c *Caller, f *fault.Error, l level, now time.Time) {
	wait := f.RetryAfter(now)
	cooldown := l == credential && wait > 0
	tells := ci.probe == c
	if cooldown {
		before := ci.cooldown
		ci.coolDown(wait, now)
		tells = tells || ci.cooldown.Sub(before) > time.Second
	}
	if c.resumes && !ci.open {
		ci.failEarlyRetry()
	}
	row, certain := ci.row(now)
	if !ci.open && ci.opens(c, row, certain) {
		ci.trip(now)
		tells = true
	}
	if ci.open && (cooldown || ci.probe == c || ci.probe == nil && ci.otherProbe == "") {
		ci.probeFault(c, now)
	}
	if tells {
		ci.tell(failed, now)
	}
}

// precedesOutage reports whether a try began before all were refused, so that its answer says nothing.
func (ci *circuit) precedesOutage(began moment) bool {
	return ci.outageFrom != 0 && began.before(ci.outageFrom)
}

// opens reports whether a given number of faults in a row open the circuit after one of a call; certain: all of the latest tries
// were refused.
func (ci *circuit) opens(c *Caller, row int, certain bool) bool {
	if !ci.suspected.IsZero() && !ci.recent.failsInPart() {
		return true
	}
	if ci.key == (key{}) && !ci.several {
		return false // the model's own opens
	}
	if !ci.recent.failsInPart() && (c.FewRetries || ci.silences >= silentToOpen) {
		return true
	}
	return certain || row >= ci.recent.toOpen(row)
}

// row returns how many faults there were in a row, and whether that many of the latest tries were refused, and none beside
// them accepted, that it is certainly an outage. From then on answers to tries from before say nothing. An answer
// interrupts a row. While none comes, so does a try that was accepted since the row began: its answer takes long. Just after
// one that was only presumed, refusals count once the tries beside them can have been refused as well.
func (ci *circuit) row(now time.Time) (faults int, certain bool) {
	n, first, accepted := ci.cohort.row()
	if certain = n >= ci.recent.certain(n); certain && ci.outageFrom == 0 {
		ci.outageFrom = first
	}
	if now.Sub(ci.presumedAt) < youngOutage || accepted != 0 && now.Sub(ci.answered) >= slowAnswers && momentOf(ci.firstFault).before(accepted) {
		return n, certain
	}
	return ci.faults, certain
}

// slowDown slows down the slow starts that concern a call.
func (b *Breaker) slowDown(c *Caller, now time.Time) {
	for _, ci := range b.of(c) {
		if ci == nil {
			continue
		}
		if ci.slowStart.on && !ci.slowStart.slowed {
			ci.tell(slowed, now)
		}
		ci.slowStart.slowDown()
	}
}

// count counts a fault of a call.
func (ci *circuit) count(c *Caller, f *fault.Error, now time.Time) {
	if ci.faults == 0 {
		ci.firstFault, ci.of, ci.several, ci.ofHost = now, c.scope.Model, false, true
	}
	ci.ofHost = ci.ofHost && levelOf(f) == host
	ci.several = ci.several || f.Status == 0 || ci.of != c.scope.Model
	ci.faults++
	if ci.silences++; f.Code != fault.Silence {
		ci.silences = 0
	}
	if !ci.open {
		ci.recent.faults++
	}
	ci.cohort.refuse(c.began, momentOf(now))
	ci.changed = now
	ci.latest, ci.took, ci.resetAt = f, c.began.age(now), now.Add(f.RetryAfter(now)).Round(0)
}

// probeFault shares a probe's fault with the calls that wait for its outcome.
func (ci *circuit) probeFault(c *Caller, now time.Time) {
	if ci.probe == c {
		ci.probe = nil
		ci.failedProbes++
	}
	ci.probeFailed = true
	for _, w := range ci.awaitingProbe.drain() {
		w.share(ci.sharedFault(now))
	}
	ci.advance(now)
}
