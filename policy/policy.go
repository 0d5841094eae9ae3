// Package policy decides whether and when a failed call is tried again.
//
// It is arithmetic on plain values: no clock, no dice, no waiting. Whoever
// asks brings the time and the dice, and does the waiting: package retry for a
// call, a supervisor for a crash. A [Run] is plain data, so a wait can be
// stored and goes on after a restart with its attempt, its slept time and its
// deadline intact.
package policy

import (
	"math"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Unlimited as Policy.Retries sets no limit on the number of retries.
const Unlimited = math.MaxInt

// Policy says when to try again. The zero Policy never does.
type Policy struct {
	Retries       int           // tries after the first; Unlimited for no limit; 0: none
	Backoff       Backoff       // the wait before retry 1, 2, 3 …; zero: none
	MaxWait       time.Duration // budget of scheduled waiting, hinted waits included; 0: no bound
	Deadline      time.Duration // budget on the clock over all tries and waits, also each try's deadline; 0: no bound
	MinRemaining  time.Duration // when a try has failed, more than this must be left of Wall, or no other is started; 0: anything above nothing
	MaxRetryAfter time.Duration // the longest provider's hint that is obeyed, a longer one ends the run; 0: what the budgets allow
	RetryOn       fault.Set     // what is worth another try; 0: fault.Transient
}

// Run is what has happened so far to one call. The zero Run is a fresh one.
type Run struct {
	Tries   int           `json:"tries"`            // how many have failed
	Slept   time.Duration `json:"slept"`            // scheduled waiting so far, in nanoseconds; what a wait that was cut short has left is taken off again
	Started time.Time     `json:"started,omitzero"` // when the first try began, or failed where there is no Wall; Wall counts from here
}

// Verdict is the answer to a fault: wait this long, or stop.
type Verdict struct {
	Wait   time.Duration // how long to wait before the next try
	Hinted bool          // the wait is the provider's hint, not the schedule's
	Stop   Stop          // why there is no other try; "" : there is one
}

// Stop says why a run ends.
type Stop string

// The reasons to stop.
const (
	Final             Stop = "final"                // the fault does not pass by itself, or not for this policy
	Committed         Stop = "committed"            // part of the answer has been handed on already
	Exhausted         Stop = "exhausted"            // all retries are used
	OverBudget        Stop = "over budget"          // the next wait does not fit Sleep, Wall or Reserve
	RetryAfterTooLong Stop = "retry-after too long" // the provider asks for a longer wait than MaxRetryAfter or the budgets allow
	GivenUp           Stop = "given up"             // a command ended the run
)

// Next counts one failed try into the run and decides about another.
// committed tells that content has gone out already; now is the time of the
// failure; dice is a random number in [0, 1) that places the wait within the
// schedule's jitter.
//
// Next asks the budgets before any waiting: a wait that does not fit them ends
// the run at once. A hint replaces a shorter wait, exactly and without jitter.
func (p Policy) Next(r Run, f *fault.Error, committed bool, now time.Time, dice float64) (Run, Verdict) {
	r.Tries++
	switch {
	case committed:
		return r, Verdict{Stop: Committed}
	case !p.passes(f, now):
		return r, Verdict{Stop: Final}
	case r.Tries > p.Retries:
		return r, Verdict{Stop: Exhausted}
	}
	v := Verdict{Wait: p.Backoff.At(r.Tries, dice)}
	if hint := f.RetryAfter(now); hint > v.Wait {
		v = Verdict{Wait: hint, Hinted: true}
	}
	if v.Stop = p.over(r, v, now); v.Stop != "" {
		return r, Verdict{Stop: v.Stop}
	}
	if r.Slept += v.Wait; r.Slept < 0 {
		r.Slept = math.MaxInt64 // without a budget it may add up to more than fits
	}
	return r, v
}

// horizon is how many waits Deadline looks ahead.
const horizon = 1000

// LatestWait gives the latest moment at which the run may still be waiting, if
// each try fails at once and no hint makes a wait longer; zero where no budget
// bounds it. r is the run before its latest failure is counted in.
func (p Policy) LatestWait(r Run, now time.Time) time.Time {
	var latest time.Time
	if p.MaxWait > 0 {
		latest = now.Add(p.ahead(r))
	}
	if p.Deadline > 0 {
		if wall := r.Started.Add(p.Deadline); latest.IsZero() || wall.Before(latest) {
			latest = wall
		}
	}
	return latest
}

// ahead sums up the waits that still fit Sleep, with jitter at its longest.
// Beyond the horizon it takes them for the whole rest of the budget.
func (p Policy) ahead(r Run) time.Duration {
	left := max(0, p.MaxWait-r.Slept)
	sum := time.Duration(0)
	for k := r.Tries + 1; k <= p.Retries; k++ {
		wait := p.Backoff.At(k, 1)
		if wait > left-sum {
			return sum
		}
		if sum += wait; k > r.Tries+horizon {
			return left
		}
	}
	return sum
}

// passes tells whether the fault can pass by itself as far as this policy is
// concerned. A spent quota does so only at a stated reset.
func (p Policy) passes(f *fault.Error, now time.Time) bool {
	kinds := p.RetryOn
	if kinds == 0 {
		kinds = fault.Transient
	}
	if f.Final || f.Kind == fault.Canceled || !kinds.Has(f.Kind) {
		return false
	}
	return f.Kind != fault.Quota || f.RetryAfter(now) > 0
}

// over names the bound that a wait would break; "" : none. Waiting that the
// provider asked for and that does not fit is a hint too far.
func (p Policy) over(r Run, v Verdict, now time.Time) Stop {
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
