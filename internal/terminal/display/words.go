package display

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
)

// Arguments are the arguments of a tool call as JSON without anything that looks like a credential, of any length.
// Characters that are not printable are escaped, so that the user sees them before allowing a call.
func Arguments(call llm.ToolCall) string {
	return string(printable.JSON([]byte(fault.Scrub(string(call.Arguments)))))
}

// Countdown says when the next try is made: in whole seconds, or for waits of more than five minutes at which time
// and in how many minutes. It never says 0s.
func Countdown(left time.Duration, now time.Time) string {
	switch {
	case left <= 0:
		return "retrying now…"
	case left > text.Long:
		return "retrying at " + Clock(now.Add(left), now) + ", in " + Duration(left) + "…"
	}
	return "retrying in " + Duration(left) + "…"
}

func shortTime(left time.Duration, now time.Time) string {
	if left > text.Long {
		return Clock(now.Add(left), now)
	}
	return Duration(left)
}

// Clock is a time of day in local time, with the date if it is another day.
func Clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) || at.Sub(now).Abs() < 12*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("15:04 on Jan 2")
}

// Duration rounds a duration up: "5s", "1m30s", "2h31m", or "now" for none. Above five minutes it
// has no seconds.
func Duration(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return text.Left(d)
}

// NextChange is how long until the text of Duration changes in a countdown; 0: never.
func NextChange(left time.Duration) time.Duration {
	if left <= 0 {
		return 0
	}
	return left - (left - 1).Truncate(text.Unit(left))
}
