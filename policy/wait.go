package policy

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Wait is the time between a failed try and the next one. It is plain data:
// events carry it, and a stored one continues after a restart.
type Wait struct {
	Run      Run           // the run with the failed try counted in: Run.Tries tries have failed, from 1
	Fault    *fault.Error  // why the try failed
	Verdict  Verdict       // how long the wait is, and whether the provider asked for it
	Due      time.Time     // when the next try is made
	Limit    int           // how many retries the policy allows; Unlimited: no limit
	Deadline time.Time     // the latest end of waiting; zero: no budget bounds it
	Waited   time.Duration // really spent waiting before this wait
}

// Retry returns the number of the retry that follows the wait, from 1.
func (w Wait) Retry() int { return w.Run.Tries }

// Retries returns how many retries have been made so far. Without a Fault the
// call has recovered, and each failed try was followed by one.
func (w Wait) Retries() int {
	if w.Fault == nil {
		return w.Run.Tries
	}
	return max(0, w.Run.Tries-1) // a command may end a call before its first try
}

// EndedEarly returns the run of a wait that ended early by the given time: what was not waited goes back to the
// budget. The wait for a usage window has taken nothing from that.
func (w Wait) EndedEarly(by time.Duration) Run {
	r := w.Run
	if !w.Verdict.Window {
		r.Slept -= max(0, by)
	}
	return r
}
