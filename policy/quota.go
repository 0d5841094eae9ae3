package policy

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Quota says what follows when a usage window is spent, such as the five hours of a subscription, and the provider
// has stated when it opens again. That wait is not charged to MaxWait, nor the try
// after it to Retries, and MaxRetryAfter does not bound it. Deadline does.
//
// The zero Quota treats such a fault like others.
type Quota struct {
	Wait     QuotaWait     // whether the window is waited for; "": as RetryOn and the budgets say
	Windows  int           // how many a run waits for; 0: one
	Max      time.Duration // the longest wait for one; 0: no bound
	NotAfter time.Duration // the time of day by which it must open, since midnight in the zone of Next's now; 0: none
}

// QuotaWait is what happens to a call whose usage window is spent.
type QuotaWait string

// The ways.
const (
	QuotaStop       QuotaWait = "stop"        // the call ends
	QuotaUntilReset QuotaWait = "until-reset" // it waits until the window opens
)

// sameWindow is how much later than stated before a window may open. A refusal that states more is of another one.
const sameWindow = 15 * time.Minute

// lateToEnd is how often a window may have refused a call after it was to open, for one that opens soon to be a throttle.
// After that it is a limit that opens at no time that is stated.
const lateToEnd = 3

// nextWindow decides about a spent usage window; false: Quota does not say. r has the failed try counted in.
//
// The first refusal of a window is free, and so are those of tries that come before it was to open, such as by a
// command. Later ones of the same window count like other faults: the provider has not kept to what it stated. It is
// asked at the policy's pace, which does not put off the moment when it was to open.
func (p Policy) nextWindow(r Run, f *fault.Error, now time.Time, random float64) (Run, Verdict, bool) {
	asked := f.RetryAfter(now)
	opens, v := now.Add(asked), Verdict{Wait: asked, Hinted: true, Window: true}
	known := r.Windows > 0 && !opens.After(r.Opens.Add(sameWindow))
	about := f.Window || known && (f.Kind == fault.RateLimited || f.Kind == fault.Quota)
	if p.Quota.Wait == "" || p.Retries == 0 || !about || asked == 0 || f.Final {
		return r, Verdict{}, false
	}
	switch {
	case !known:
		r.Windows, r.Opens, r.Free = r.Windows+1, opens, r.Free+1
	case now.Before(r.Opens):
		r.Free++
		v.Wait = max(asked, min(p.Backoff.At(r.Tries-r.Windows, random), r.Opens.Sub(now)))
	default:
		r.Late++
		v.Wait = max(asked, p.Backoff.At(p.step(r), random))
	}
	switch stop := p.windowExceeds(r, v, opens, now); {
	case r.Windows > max(1, p.Quota.Windows) && f.Kind != fault.Quota && r.Late < lateToEnd:
		return r, Verdict{}, false // it opens soon: a throttle
	case r.Windows > max(1, p.Quota.Windows), r.Tries > p.Limit(r, f):
		return r, Verdict{Stop: Exhausted}, true
	case stop != "":
		return r, Verdict{Stop: stop}, true
	}
	return r, v, true
}

// windowExceeds returns the Stop for a bound that the wait for a window would exceed; "": none.
func (p Policy) windowExceeds(r Run, v Verdict, opens, now time.Time) Stop {
	q := p.Quota
	switch {
	case q.Wait != QuotaUntilReset, q.Max > 0 && v.Wait > q.Max, opens.After(q.latest(r, now)):
		return RetryAfterTooLong
	case p.Deadline == 0:
		return ""
	}
	left := p.Deadline - now.Sub(r.Started)
	switch {
	case left <= p.MinRemaining:
		return OverBudget
	case v.Wait >= left:
		return RetryAfterTooLong
	}
	return ""
}

// latest returns the latest moment at which a window may open: the next NotAfter from the beginning of the run.
func (q Quota) latest(r Run, now time.Time) time.Time {
	if q.NotAfter == 0 {
		return now.Add(1<<63 - 1)
	}
	from := now
	if !r.Started.IsZero() {
		from = r.Started.In(now.Location())
	}
	of := func(days int) time.Time {
		minutes := int(q.NotAfter / time.Minute)
		return time.Date(from.Year(), from.Month(), from.Day()+days, 0, minutes, 0, 0, from.Location())
	}
	if today := of(0); today.After(from) {
		return today
	}
	return of(1)
}
