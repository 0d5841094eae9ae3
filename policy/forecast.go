package policy

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Forecast is what a policy does in an outage without end.
type Forecast struct {
	Retries []PlannedRetry
	Stop    Stop          // why it ends; "": not within the bound
	Total   time.Duration // of waiting
}

// PlannedRetry is one retry of a [Forecast].
type PlannedRetry struct {
	N           int           // from 1
	Wait        time.Duration // before it, without jitter
	Least, Most time.Duration // the same with jitter at its ends
	At          time.Duration // the waits up to and with this one
}

// Forecast plays the policy against an upstream that refuses each try at once,
// without asking for a wait. It looks at bound retries at most.
func (p Policy) Forecast(bound int) Forecast {
	var o Forecast
	backoff := p.Backoff
	p.Backoff.Jitter = Jitter{}
	start := time.Unix(0, 0)
	r, refusal := Run{Started: start}, &fault.Error{Kind: p.retriedKind()}
	for n := 1; ; n++ {
		var v Verdict
		r, v = p.Next(r, refusal, false, start.Add(o.Total), 0)
		if o.Stop = v.Stop; v.Stop != "" || n > bound {
			return o
		}
		o.Total = r.Slept
		o.Retries = append(o.Retries, PlannedRetry{
			N: n, Wait: v.Wait, Least: backoff.At(n, 0), Most: backoff.At(n, 1), At: r.Slept,
		})
	}
}

// retriedKind returns a kind of fault that the policy tries again: Overloaded if
// that is one.
func (p Policy) retriedKind() fault.Kind {
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
