package policy

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Outlook is what a policy comes to where no try ever passes.
type Outlook struct {
	Retries []Retry
	Stop    Stop          // why it ends; "" : it does not within the bound
	Total   time.Duration // of waiting
}

// Retry is one retry of an [Outlook].
type Retry struct {
	N           int           // 1 for the first
	Wait        time.Duration // before it, as the schedule says
	Least, Most time.Duration // the same with the least and with the most jitter
	At          time.Duration // the sum of the waits up to and with this one
}

// Outlook plays the policy against an upstream that refuses each try at once,
// without a hint and with a fault that the policy tries again. It looks at no
// more than bound retries. The waits are those of the schedule, without jitter.
func (p Policy) Outlook(bound int) Outlook {
	var o Outlook
	schedule := p.Backoff
	p.Backoff.Jitter = Jitter{}
	begun := time.Unix(0, 0)
	r, refusal := Run{Started: begun}, &fault.Error{Kind: p.endured()}
	for n := 1; ; n++ {
		var v Verdict
		r, v = p.Next(r, refusal, false, begun.Add(o.Total), 0)
		if o.Stop = v.Stop; v.Stop != "" || n > bound {
			return o
		}
		o.Total = r.Slept
		o.Retries = append(o.Retries, Retry{
			N: n, Wait: v.Wait, Least: schedule.At(n, 0), Most: schedule.At(n, 1), At: r.Slept,
		})
	}
}

// endured gives a kind of fault that the policy tries again: the plainest, if
// it does so with that.
func (p Policy) endured() fault.Kind {
	if p.RetryOn == 0 || p.RetryOn.Has(fault.Overloaded) {
		return fault.Overloaded
	}
	for k := fault.Unknown; k < fault.Canceled; k++ {
		if p.RetryOn.Has(k) && k != fault.Quota {
			return k
		}
	}
	return fault.Quota
}
