package configflags

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
)

// MaxRetries is how many retries of a policy are computed.
const MaxRetries = 10_000

// PolicySummary summarizes what a policy does in an endless outage.
func PolicySummary(p policy.Policy, o policy.Forecast) string {
	switch {
	case p.Retries == 0, len(o.Retries) == 0 && o.Stop == policy.OverBudget:
		return "never retries"
	case o.Stop == "":
		return "retries forever"
	}
	return fmt.Sprintf("%s, %s of waiting", text.Count(len(o.Retries), "retry", "retries"), Duration(o.Total))
}

// PolicyEnd returns when and why a policy gives up, as a sentence.
func PolicyEnd(p policy.Policy, o policy.Forecast) string {
	n := len(o.Retries)
	switch first := p.Backoff.At(1, 0.5); {
	case p.Retries == 0:
		return "It gives up at the first failure."
	case o.Stop == "":
		return "It never gives up."
	case n == 0 && o.Stop == policy.OverBudget && p.Deadline > 0 && p.MinRemaining >= p.Deadline:
		return fmt.Sprintf("It gives up at the first failure: a retry needs more than %s of the deadline of %s.", Duration(p.MinRemaining), Duration(p.Deadline))
	case n == 0 && o.Stop == policy.OverBudget:
		return fmt.Sprintf("It gives up at the first failure: its first wait of %s is longer than its limit of %s.", Duration(first), Duration(budget(p)))
	case o.Stop == policy.Exhausted:
		return fmt.Sprintf("It gives up when retry %d fails, %s after the first try: that is its last retry.", n, Duration(o.Total))
	case o.Stop == policy.OverBudget && p.Deadline > 0 && (p.MaxWait == 0 || p.Deadline < p.MaxWait):
		return fmt.Sprintf("It gives up when retry %d fails, %s after the first try: another one would exceed its deadline of %s.", n, Duration(o.Total), Duration(p.Deadline))
	case o.Stop == policy.OverBudget:
		return fmt.Sprintf("It gives up when retry %d fails, %s after the first try: another wait of %s would exceed its total of %s.",
			n, Duration(o.Total), Duration(p.Backoff.At(n+1, 0.5)), Duration(p.MaxWait))
	}
	return fmt.Sprintf("It gives up at once (%s): it only retries faults with a stated reset time.", o.Stop)
}

// PolicyWithoutName says how a policy treats failures that no name, status or text explains.
func PolicyWithoutName(p policy.Policy) string {
	if p.Retries != 0 && p.RetryOn.Has(fault.Unknown) {
		return "It retries failures without a name, too: for as long, but a 409 only twice."
	}
	return "It ends at a failure without a name, and at a 409."
}

func budget(p policy.Policy) time.Duration {
	if p.Deadline == 0 || p.MaxWait > 0 && p.MaxWait < p.Deadline {
		return p.MaxWait
	}
	return p.Deadline
}

// Duration formats a time without trailing zeros: 8h, 1m30s.
func Duration(d time.Duration) string {
	if d > time.Second {
		d = d.Round(10 * time.Millisecond)
	}
	return text.Duration(d)
}
