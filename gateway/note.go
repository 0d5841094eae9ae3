package gateway

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// Note is where a request stands after a try.
type Note struct {
	Run      policy.Run     // the run with this try counted in
	Fault    *fault.Error   // what failed; nil: the request recovered
	Verdict  policy.Verdict // the wait that follows, or why there is none
	Limit    int            // how many retries the policy allows; policy.Unlimited: no limit
	Deadline time.Time      // the latest end of all waiting; zero: no budget bounds it
	Waited   time.Duration  // real waiting so far
}

// Retries is the number of retries that have been made so far.
func (n Note) Retries() int {
	if n.Fault == nil {
		return n.Run.Tries // each failed try was followed by another
	}
	return max(0, n.Run.Tries-1) // it may have been given up before the first
}

// noteOfWait returns the note of a wait.
func noteOfWait(w policy.Wait) Note {
	return Note{Run: w.Run, Fault: w.Fault, Verdict: w.Verdict, Limit: w.Limit, Deadline: w.Deadline, Waited: w.Waited}
}
