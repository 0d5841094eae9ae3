package text

import (
	"strings"
	"time"
)

// Duration returns a duration without the zeros that Go appends: "8h", "1m30s".
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Passed returns a time that has passed, to the nearest second, and at least one: "2s", "1m30s".
func Passed(d time.Duration) string { return Duration(max(time.Second, d.Round(time.Second))) }

// Exact returns a time as it is written to a log: to the millisecond.
func Exact(d time.Duration) string { return d.Round(time.Millisecond).String() }

// Long is what is left of a wait above which its seconds do not matter.
const Long = 5 * time.Minute

// Unit returns the unit to which Left rounds.
func Unit(left time.Duration) time.Duration {
	if left > Long {
		return time.Minute
	}
	return time.Second
}

// Left returns what is left of a wait, rounded up: "5s", "1m30s", above five minutes without seconds: "2h31m".
func Left(d time.Duration) string {
	unit := Unit(d)
	return Duration((d + unit - 1).Truncate(unit))
}
