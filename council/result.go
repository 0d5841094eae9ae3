package council

import (
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// Result is what has come of a council, as far as it has come.
type Result struct {
	Members    []Voice // in the order of the council's
	Aggregator Voice   // State "": it was not asked. Text is what had come, also where it has failed
	Took       time.Duration
}

// Answer is the council's one answer; "": there is none, or not all of it.
func (r Result) Answer() string {
	if r.Aggregator.State != Answered {
		return ""
	}
	return r.Aggregator.Text
}

// Count gives how many members are in a state.
func (r Result) Count(s State) int { return count(r.Members, s) }

func count(voices []Voice, s State) (n int) {
	for _, v := range voices {
		if v.State == s {
			n++
		}
	}
	return n
}

// Voice is a member, or the aggregator, as it stands.
type Voice struct {
	Name  llm.Name
	State State
	Tries int           // how often its model was asked; a failure that it has shared with another is none
	Took  time.Duration // from its beginning to its end, or until now
	Left  time.Duration // of its budget

	Text   string     // what it says, once it has answered
	Reason llm.Reason // why that ends
	Usage  llm.Usage  // of all its tries

	Fault *fault.Error // that it has met last; nil: none

	Wait   time.Duration // while it waits: until its other try; 0: for its turn at the gate
	Hinted bool          // that wait is the provider's wish
	Why    error         // what has cut it off; nil: nothing
}

// After gives the voice as it stands if it stays as it is for so long.
func (v Voice) After(d time.Duration) Voice {
	if !v.State.ended() {
		v.Took, v.Left, v.Wait = v.Took+d, max(0, v.Left-d), max(0, v.Wait-d)
	}
	return v
}

// Shortfall is the error of a council in which fewer members have answered
// than are enough.
type Shortfall struct {
	Members []Voice
	Quorum  int
}

// Error names what has become of each member that has not answered.
func (e *Shortfall) Error() string {
	var rest []string
	for _, v := range e.Members {
		if v.State != Answered {
			rest = append(rest, v.Name.String()+" "+v.fate())
		}
	}
	return fmt.Sprintf("%d of %d members answered, and %d are needed: %s",
		count(e.Members, Answered), len(e.Members), e.Quorum, strings.Join(rest, "; "))
}

// Unwrap gives the faults of those that have failed.
func (e *Shortfall) Unwrap() []error {
	var all []error
	for _, v := range e.Members {
		if v.State == Failed && v.Fault != nil {
			all = append(all, v.Fault)
		}
	}
	return all
}

// fate tells how a member has ended that has not answered.
func (v Voice) fate() string {
	switch {
	case v.State == CutOff && v.Fault != nil:
		return fmt.Sprintf("was cut off after %v (%v), having met: %s", v.Took.Round(time.Millisecond), v.Why, v.Fault.Redacted())
	case v.State == CutOff:
		return fmt.Sprintf("was cut off after %v (%v)", v.Took.Round(time.Millisecond), v.Why)
	}
	return fmt.Sprintf("failed %s: %s", inTries(v.Tries), v.Fault.Redacted())
}

// inTries tells how often a model was asked.
func inTries(n int) string {
	switch n {
	case 0:
		return "without being asked"
	case 1:
		return "in 1 try"
	}
	return fmt.Sprintf("in %d tries", n)
}
