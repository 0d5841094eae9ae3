// Package outlook describes in plain sentences what a policy does in an outage
// without end.
package outlook

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

// MaxRetries is how many retries of a policy are looked at.
const MaxRetries = 10_000

// Summary says in a line what a policy does in an outage without end.
func Summary(p policy.Policy, o policy.Forecast) string {
	switch {
	case p.Retries == 0, len(o.Retries) == 0 && o.Stop == policy.OverBudget:
		return "never tries again"
	case o.Stop == "":
		return "tries again without end"
	}
	return fmt.Sprintf("%s in %s of waiting", retried(len(o.Retries)), Duration(o.Total))
}

// End says where a policy ends and why.
func End(p policy.Policy, o policy.Forecast) string {
	n := len(o.Retries)
	switch first := p.Backoff.At(1, 0.5); {
	case p.Retries == 0:
		return "It tries once, and the first failure is the end."
	case o.Stop == "":
		return "It has no end."
	case n == 0 && o.Stop == policy.OverBudget && p.Deadline > 0 && p.MinRemaining >= p.Deadline:
		return fmt.Sprintf("The first failure is the end: another try wants more than %s to be left of the %s that it may take in all.", Duration(p.MinRemaining), Duration(p.Deadline))
	case n == 0 && o.Stop == policy.OverBudget:
		return fmt.Sprintf("The first failure is the end: its first wait of %s does not fit the %s that it may take in all.", Duration(first), Duration(budget(p)))
	case o.Stop == policy.Exhausted:
		return fmt.Sprintf("It ends when retry %d has failed, %s after the first try: that is how many it has.", n, Duration(o.Total))
	case o.Stop == policy.OverBudget && p.Deadline > 0 && (p.MaxWait == 0 || p.Deadline < p.MaxWait):
		return fmt.Sprintf("It ends when retry %d has failed, %s after the first try: another does not fit the %s that it may take in all.", n, Duration(o.Total), Duration(p.Deadline))
	case o.Stop == policy.OverBudget:
		return fmt.Sprintf("It ends when retry %d has failed, %s after the first try: another wait of %s does not fit the %s that it may wait in all.",
			n, Duration(o.Total), Duration(p.Backoff.At(n+1, 0.5)), Duration(p.MaxWait))
	}
	return fmt.Sprintf("It ends at once (%s): what it tries again passes only at a stated moment.", o.Stop)
}

// budget gives the smaller of a policy's two budgets, of those that it has.
func budget(p policy.Policy) time.Duration {
	if p.Deadline == 0 || p.MaxWait > 0 && p.MaxWait < p.Deadline {
		return p.MaxWait
	}
	return p.Deadline
}

func retried(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

// Duration writes a time without the zeros at its end: 8h, 1m30s.
func Duration(d time.Duration) string {
	if d > time.Second {
		d = d.Round(10 * time.Millisecond)
	}
	return config.ShowDuration(d)
}
