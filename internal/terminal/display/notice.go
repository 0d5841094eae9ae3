// Package display has the words that people are told of troubles with, the same
// on every surface: the sentence while a call waits, its countdown, the line
// that ends it well, the headline and the details of one that ends badly.
//
// It writes nowhere and has no clock: what is shown follows from what it is
// given, the present and the width among it. Packages cli and tui show it.
package display

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// Words that are said as they are.
const (
	BrokeOff  = "… the answer broke off here"
	Restarted = "▲ its worker died: the answer begins anew"
	Missed    = "· some of the answer was not heard as it came: from there again"
	Compacted = "· the conversation was too long and has been shortened"
	Canceled  = "Canceled."
)

// Wait is a wait for the next try.
type Wait struct {
	Fault    *fault.Error
	Attempt  int       // the number of the retry, from 1
	Limit    int       // how many there may be; policy.Unlimited for no limit
	Deadline time.Time // the latest end of waiting; zero: no budget bounds it
}

// Of gives the wait that a turn tells of.
func Of(e turn.Retry) Wait {
	return Wait{Fault: e.Fault, Attempt: e.Attempt + 1, Limit: e.Limit, Deadline: e.Deadline}
}

// Line is the one line that people see while a call waits: state, time,
// attempt, keys. left is the time until the next try, now the present, width
// the columns there are, of which the last stays free. keys are those that do
// something beside Ctrl+C, such as "r now". Where the columns are few, keys go
// first, then the line is put shortly, then it is shed from the right.
func (w Wait) Line(left time.Duration, now time.Time, width int, keys ...string) string {
	fits := func(line string) bool { return utf8.RuneCountInString(line) < width }
	state := fmt.Sprintf("▲ %s — %s (%s)", Capitalize(w.Fault.Label()), Countdown(left, now), w.attempt(now))
	keys = append(append([]string{state}, keys...), "Press Ctrl+C to cancel")
	for _, line := range []string{strings.Join(keys, " • "), state + " • Press Ctrl+C to cancel", state + " • ^C"} {
		if fits(line) {
			return line
		}
	}
	parts := []string{"▲ " + w.briefly(), shortly(left, now), w.count(), "^C"}
	for len(parts) > 1 && !fits(strings.Join(parts, " · ")) {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, " · ")
}

// briefly gives the fault in one word.
func (w Wait) briefly() string {
	if w.Fault.Status == 0 && w.Fault.Kind == fault.Unavailable {
		return w.Fault.Label()
	}
	return w.Fault.Kind.String()
}

// attempt counts retries from 1; without a limit it says when waiting ends.
func (w Wait) attempt(now time.Time) string {
	if w.Limit == policy.Unlimited && !w.Deadline.IsZero() {
		return "attempt " + w.count() + ", gives up " + Clock(w.Deadline, now)
	}
	return "attempt " + w.count()
}

// count is the number of the retry, and of how many where there is a limit.
func (w Wait) count() string {
	if w.Limit == policy.Unlimited {
		return strconv.Itoa(w.Attempt)
	}
	return fmt.Sprintf("%d/%d", w.Attempt, w.Limit)
}

// long is from when on people look at the clock and not at seconds.
const long = 5 * time.Minute

// Countdown says when the next try comes: in whole seconds, or for waits of more
// than five minutes at which time and in how many minutes. It never says 0s.
func Countdown(left time.Duration, now time.Time) string {
	switch {
	case left <= 0:
		return "retrying now…"
	case left > long:
		return "retrying at " + Clock(now.Add(left), now) + ", in " + Duration(left) + "…"
	}
	return "retrying in " + Duration(left) + "…"
}

func shortly(left time.Duration, now time.Time) string {
	if left > long {
		return Clock(now.Add(left), now)
	}
	return Duration(left)
}

// Clock gives a moment as a clock shows it, with the day where that is another
// one.
func Clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) || at.Sub(now).Abs() < 12*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("15:04 on Jan 2")
}

// Duration rounds a time that is left up: "5s", "1m30s", "2h31m", or "now". Of
// more than five minutes no seconds are said.
func Duration(left time.Duration) string {
	unit := unitOf(left)
	switch up := (left + unit - 1).Truncate(unit); {
	case left <= 0:
		return "now"
	case left > long:
		return strings.TrimSuffix(up.String(), "0s")
	default:
		return up.String()
	}
}

// NextChange gives how long it is until the words about a time that is left change;
// 0: they do not any more.
func NextChange(left time.Duration) time.Duration {
	if left <= 0 {
		return 0
	}
	unit := unitOf(left)
	return left - (left - 1).Truncate(unit)
}

func unitOf(left time.Duration) time.Duration {
	if left > long {
		return time.Minute
	}
	return time.Second
}

// Recovered is the line that ends a wait well.
func Recovered(retries int, waited time.Duration) string {
	return fmt.Sprintf("✓ Recovered after %s (waited %v)", several(retries, "retry", "retries"), max(time.Second, waited.Round(time.Second)))
}

// Switched is the line that tells of another model that goes on.
func Switched(e turn.Switched) string {
	return fmt.Sprintf("▲ %s does not answer (%s): going on with %s", OneLine(cmp.Or(e.From, "the model")), OneLine(e.Why), OneLine(e.To))
}

func several(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// Capitalize begins a text with a capital letter.
func Capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
