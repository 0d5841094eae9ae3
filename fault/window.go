package fault

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/text"
)

// OpensAgain says when a spent usage window opens, in now's zone: "opens again at 04:08, in 3h1m"; "": the fault is
// about none.
func (e *Error) OpensAgain(now time.Time) string {
	if !e.Window {
		return ""
	}
	left := e.ResetAt.Sub(now)
	if left <= 0 {
		return "opens again now"
	}
	return "opens again at " + clock(e.ResetAt.In(now.Location()), now) + ", in " + text.Left(left)
}

// clock returns a time of day, with the date if it is another day and not in the next hours.
func clock(at, now time.Time) string {
	if at.Sub(now) < 12*time.Hour || at.Sub(now) < 24*time.Hour && at.Day() == now.Day() {
		return at.Format("15:04")
	}
	return at.Format("15:04 on Jan 2")
}
