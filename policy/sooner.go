package policy

import "time"

// Sooner returns a wait that ends at a better moment before its time, such as shortly before a prompt cache ends.
// It is shortened as far as the pace of the policy allows: not below the wait before it, or half of itself where
// that is less. One that would have to be shorter stays as it is, and so does one that the provider has asked for.
//
// The whole wait counts as slept, so that no try is won by it. at zero: there is no better moment.
func (p Policy) Sooner(w Wait, at time.Time) Wait {
	wait := w.Verdict.Wait - w.Due.Sub(at)
	least := min(p.Backoff.At(p.step(w.Run)-1, 0), w.Verdict.Wait/2)
	switch {
	case at.IsZero(), w.Verdict.Stop != "", w.Verdict.Hinted, !at.Before(w.Due), wait < least:
		return w
	case wait < w.Fault.RetryAfter(w.Due.Add(-w.Verdict.Wait)):
		return w
	}
	w.Due, w.Verdict.Wait = at, wait
	return w
}
