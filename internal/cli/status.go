package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// sentence is the one line that people see while a call waits: state, time,
// attempt, key. left is the time until the next try, now the present, width
// the columns there are; where they are few, the short form is shown.
func sentence(n retry.Note, left time.Duration, now time.Time, width int) string {
	long := fmt.Sprintf("▲ %s — %s (%s) • Press Ctrl+C to cancel", capital(n.Fault.Cause()), when(left, now), attempt(n))
	if utf8.RuneCountInString(long) < width {
		return long
	}
	parts := []string{"▲ " + briefly(n.Fault), seconds(left), count(n), "^C"}
	for len(parts) > 1 && utf8.RuneCountInString(strings.Join(parts, " · ")) >= width {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, " · ")
}

// briefly gives a fault in one word.
func briefly(f *fault.Error) string {
	if f.Status == 0 && f.Kind == fault.Unavailable {
		return f.Cause()
	}
	return f.Kind.String()
}

// when says when the next try comes: whole seconds, rounded up, never 0s; the
// clock for waits of more than five minutes.
func when(left time.Duration, now time.Time) string {
	switch {
	case left <= 0:
		return "retrying now…"
	case left > 5*time.Minute:
		return "retrying at " + now.Add(left).Format("15:04") + "…"
	}
	return "retrying in " + seconds(left) + "…"
}

// seconds rounds a duration up to whole seconds: "5s", "1m30s", "now".
func seconds(left time.Duration) string {
	if left <= 0 {
		return "now"
	}
	return (left + time.Second - 1).Truncate(time.Second).String()
}

// attempt counts retries from 1; without a limit it says when waiting ends.
func attempt(n retry.Note) string {
	if n.Limit == policy.Unlimited && !n.Deadline.IsZero() {
		return fmt.Sprintf("attempt %s, gives up %s", count(n), n.Deadline.Local().Format("15:04"))
	}
	return "attempt " + count(n)
}

// count is the number of the retry, and of how many where there is a limit.
func count(n retry.Note) string {
	if n.Limit == policy.Unlimited {
		return strconv.Itoa(n.Run.Tries)
	}
	return fmt.Sprintf("%d/%d", n.Run.Tries, n.Limit)
}

// recovered is the line that ends a wait well.
func recovered(n retry.Note) string {
	retries := "retries"
	if n.Retries() == 1 {
		retries = "retry"
	}
	return fmt.Sprintf("✓ Recovered after %d %s (waited %v)", n.Retries(), retries, n.Waited.Round(time.Second))
}

// ended are the lines that end a call badly.
func ended(n retry.Note) string {
	switch n.Verdict.Stop {
	case policy.Final, policy.Committed:
		return fmt.Sprintf("Failed: %s.\n  %v", n.Fault.Cause(), n.Fault)
	}
	return fmt.Sprintf("Failed after %d retry attempts. Check your connection and try again.\n  %v", n.Retries(), n.Fault)
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
