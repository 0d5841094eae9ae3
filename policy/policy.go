// Package policy decides whether and when a failed call is tried again.
//
// It is arithmetic on plain values: no clock, no randomness, no waiting. The
// caller brings the time and the random number, and waits: package retry for a
// call, a supervisor for a crash. A [Run] and a [Wait] are plain data, so that a
// wait can be stored and continues after a restart.
package policy

import (
	"cmp"
	"math"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Unlimited as Policy.Retries sets no limit on the number of retries.
const Unlimited = math.MaxInt

// Policy says when to try again. The zero Policy never does. A budget of 0 is
// none: it bounds nothing.
type Policy struct {
	Retries       int           // tries after the first; Unlimited: no limit; 0: none
	Backoff       Backoff       // the wait before each retry; zero: none
	MaxWait       time.Duration // budget of waiting in all, as scheduled or as the provider asks
	Deadline      time.Duration // budget on the clock over all tries and waits; also each try's deadline
	MinRemaining  time.Duration // more than this must be left of Deadline for another try
	MaxRetryAfter time.Duration // budget of one wait that the provider asks for; a longer one ends the run
	RetryOn       fault.Set     // kinds that are tried again; zero: fault.Transient
	Quota         Quota         // what follows a spent usage window; zero: what follows other faults
}

// Run is what has happened so far to one call. The zero Run is a fresh one.
type Run struct {
	Tries   int           `json:"tries"`            // that have failed
	Slept   time.Duration `json:"slept"`            // waiting, without the rest of waits cut short; JSON: ns
	Started time.Time     `json:"started,omitzero"` // of the first try; its failure, without a Deadline
	Few     int           `json:"few,omitzero"`     // the last tries in a row whose fault has Retries of its own
	Windows int           `json:"windows,omitzero"` // usage windows that were waited for, as Quota says
	Opens   time.Time     `json:"opens,omitzero"`   // when the last of them opens
	Late    int           `json:"late,omitzero"`    // of Tries, those that a window has refused after it was to open
	Free    int           `json:"free,omitzero"`    // of Tries, those that a window has refused before it was to open
	Shared  int           `json:"shared,omitzero"`  // of Tries, those that another call has made
	Sharing time.Time     `json:"sharing,omitzero"` // since when it has made none itself; zero: the latest is its own
}

// Verdict is the answer to a fault: wait this long, or stop.
type Verdict struct {
	Wait   time.Duration // before the next try
	Hinted bool          // the provider has asked for the wait
	Window bool          // it lasts until a usage window opens, and takes nothing from MaxWait
	Stop   Stop          // why there is no other try; "": there is one
}

// Stop is the reason for which a run ends.
type Stop string

// The reasons. Next returns all but GivenUp, which package retry adds.
const (
	Final             Stop = "final"                // the fault does not pass by itself, or not for this policy
	Committed         Stop = "committed"            // part of the answer has gone out already
	Exhausted         Stop = "exhausted"            // all retries are used
	OverBudget        Stop = "over budget"          // the next wait does not fit MaxWait, Deadline or MinRemaining
	RetryAfterTooLong Stop = "retry-after too long" // the provider asks for more than fits
	GivenUp           Stop = "given up"             // a command ended the run
)

// Next counts one failed try into the run and decides about another. committed
// says that content has gone out already. now is the time of the failure. random
// is a number in [0, 1) that places the wait within the backoff's jitter.
//
// A wait that does not fit the budgets ends the run at once. A wait that the
// provider asks for replaces a shorter one, exactly and without jitter.
func (p Policy) Next(r Run, f *fault.Error, committed bool, now time.Time, random float64) (Run, Verdict) {
	r.Tries++
	if r.Few++; f.Retries == 0 {
		r.Few = 0
	}
	if r.Sharing = (time.Time{}); committed {
		return r, Verdict{Stop: Committed}
	}
	return p.next(r, f, now, random)
}

// sharingTime is for how much longer than its own waits in all a call shares the faults of others at the most.
const sharingTime = time.Minute

// NextShared is Next for a try that another call has made. It costs this one time, and none of its Retries, unless as
// many tries have failed InRow in an outage: there a call ends when it would have ended alone. One that has only shared
// faults for as long as all its own waits and a minute ends as well.
func (p Policy) NextShared(r Run, f *fault.Error, now time.Time, random float64) (Run, Verdict) {
	r.Tries++
	r.Shared++
	if r.Sharing.IsZero() {
		r.Sharing = now
	}
	if p.Retries != Unlimited && now.Sub(r.Sharing) >= p.allWaits()+sharingTime {
		return r, Verdict{Stop: Exhausted}
	}
	return p.next(r, f, now, random)
}

// allWaits adds up the waits before all retries, with jitter at its longest, as far as the horizon.
func (p Policy) allWaits() time.Duration {
	p.MaxWait = cmp.Or(p.MaxWait, math.MaxInt64)
	return min(p.waitsLeft(Run{}), math.MaxInt64-sharingTime)
}

// next is Next with the failed try counted in.
func (p Policy) next(r Run, f *fault.Error, now time.Time, random float64) (Run, Verdict) {
	if f.Doubted > 0 {
		return p.nextDoubted(r, f, now, random)
	}
	if next, v, ok := p.nextWindow(r, f, now, random); ok {
		return next, v
	}
	switch {
	case !p.retries(f, now):
		return r, Verdict{Stop: Final}
	case r.Tries > p.Limit(r, f), f.InRow > p.Retries && r.Tries-r.Free > p.Retries: // with its own tries it would fare no better
		return r, Verdict{Stop: Exhausted}
	}
	v := Verdict{Wait: p.Backoff.At(p.step(r), random)}
	if asked := f.RetryAfter(now); asked > v.Wait {
		v = Verdict{Wait: asked, Hinted: true}
	}
	if stop := p.exceeded(r, v, now); stop != "" {
		return r, Verdict{Stop: stop}
	}
	if r.Slept += v.Wait; r.Slept < 0 {
		r.Slept = math.MaxInt64 // without a budget it may add up to more than fits
	}
	return r, v
}

// These bound the wait after a refusal that is doubted. A client that has another key gives it only then.
const (
	longestKeyDoubt   = 3 * time.Second
	longestModelDoubt = 8 * time.Second
)

// nextDoubted decides about a refusal that is doubted. Without another try it is as final as any.
func (p Policy) nextDoubted(r Run, f *fault.Error, now time.Time, random float64) (Run, Verdict) {
	longest := longestModelDoubt
	if f.Kind == fault.Auth {
		longest = longestKeyDoubt
	}
	v := Verdict{Wait: min(p.Backoff.At(f.Doubted, random), longest)}
	if r.Tries > p.Limit(r, f) || p.exceeded(r, v, now) != "" {
		return r, Verdict{Stop: Final}
	}
	r.Slept += v.Wait
	return r, v
}

// Limit returns how many retries there are at most in a run whose last fault is f: the policy's besides the free
// and shared ones, or fewer if the fault has Retries of its own. r is the run with that fault counted in.
func (p Policy) Limit(r Run, f *fault.Error) int {
	limit := p.Retries
	if limit != Unlimited {
		limit += r.Free + r.Shared
	}
	if f.Retries == 0 {
		return limit
	}
	return min(limit, r.Tries-r.Few+f.Retries)
}

// Capped returns the policy with waits of at most limit in all, and for a usage window; 0: as it is. Retries become
// those that fit, since people read them. Without a number of retries it is the waits that become shorter: one that does
// not fit ends the run, and before one of half an hour a third of 45 minutes would be left.
func (p Policy) Capped(limit time.Duration) Policy {
	if limit == 0 {
		return p
	}
	if p.Quota.Wait == QuotaUntilReset && (p.Quota.Max == 0 || p.Quota.Max > limit) {
		p.Quota.Max = limit
	}
	if p.MaxWait > 0 && p.MaxWait <= limit {
		return p
	}
	p.MaxWait = limit
	if p.Retries == Unlimited {
		p.Backoff = p.Backoff.fitting(limit)
		return p
	}
	even := p
	even.Backoff.Jitter, even.RetryOn = Jitter{}, fault.Transient
	run, refused := Run{}, &fault.Error{Kind: fault.Overloaded}
	for n := range p.Retries {
		next, v := even.Next(run, refused, false, time.Time{}, 0)
		if v.Stop != "" {
			p.Retries = max(n, 1) // a Retry-After may be shorter
			break
		}
		run = next
	}
	return p
}

// step returns which wait of the backoff is next: shared tries lengthen it as far as own ones may.
func (p Policy) step(r Run) int { return min(r.Tries-r.Free, max(1, p.Retries)) }

// horizon is how many waits LatestWait adds up.
const horizon = 1000

// LatestWait returns the latest moment at which the run may still be waiting, if
// each try fails at once and no provider asks for a longer wait; zero: no budget
// bounds it. r is the run before its latest failure is counted in.
func (p Policy) LatestWait(r Run, now time.Time) time.Time {
	var latest time.Time
	if p.MaxWait > 0 {
		latest = now.Add(p.waitsLeft(r))
	}
	if p.Deadline > 0 {
		if end := r.Started.Add(p.Deadline); latest.IsZero() || end.Before(latest) {
			latest = end
		}
	}
	return latest
}

// waitsLeft adds up the waits that still fit MaxWait, with jitter at its longest.
// Beyond the horizon it takes them for the whole rest of the budget.
func (p Policy) waitsLeft(r Run) time.Duration {
	left := max(0, p.MaxWait-r.Slept)
	sum := time.Duration(0)
	tries := r.Tries - r.Free
	for k := tries + 1; k <= p.Retries; k++ {
		wait := p.Backoff.At(k, 1)
		if wait > left-sum {
			return sum
		}
		if sum += wait; k > tries+horizon {
			return left
		}
	}
	return sum
}

// retries reports whether the policy tries again after the fault. A spent quota
// passes only at a stated reset.
func (p Policy) retries(f *fault.Error, now time.Time) bool {
	kinds := p.RetryOn
	if kinds == 0 {
		kinds = fault.Transient
	}
	if f.Final || f.Kind == fault.Canceled || !kinds.Has(f.Kind) {
		return false
	}
	return f.Kind != fault.Quota || f.RetryAfter(now) > 0
}

// exceeded returns the Stop for a budget that a wait would exceed; "": none.
func (p Policy) exceeded(r Run, v Verdict, now time.Time) Stop {
	if v.Hinted && p.MaxRetryAfter > 0 && v.Wait > p.MaxRetryAfter {
		return RetryAfterTooLong
	}
	fits := p.MaxWait == 0 || v.Wait <= p.MaxWait-r.Slept
	if p.Deadline > 0 {
		left := p.Deadline - now.Sub(r.Started)
		if left <= p.MinRemaining {
			return OverBudget
		}
		fits = fits && v.Wait < left
	}
	switch {
	case fits:
		return ""
	case v.Hinted:
		return RetryAfterTooLong
	}
	return OverBudget
}
