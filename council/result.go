package council

import (
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// Result is the outcome of a council, or as much of it as there is.
type Result struct {
	Members    []Member // in the order of the council's
	Aggregator Member   // State "": it was not asked. Text is what had come, also where it has failed
	Took       time.Duration
}

// Answer is the council's one answer; "": there is none, or not all of it.
func (r Result) Answer() string {
	if r.Aggregator.State != Answered {
		return ""
	}
	return r.Aggregator.Text
}

// Count returns how many members are in a state.
func (r Result) Count(s State) int { return count(r.Members, s) }

func count(voices []Member, s State) (n int) {
	for _, v := range voices {
		if v.State == s {
			n++
		}
	}
	return n
}

// Member is the state of a member, or of the aggregator.
type Member struct {
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
	Hinted bool          // the provider asked for that wait
	Why    error         // what has cut it off; nil: nothing
}

// After returns the member after some time without a change.
func (m Member) After(d time.Duration) Member {
	if !m.State.ended() {
		m.Took, m.Left, m.Wait = m.Took+d, max(0, m.Left-d), max(0, m.Wait-d)
	}
	return m
}

// QuorumError is the error of a council with fewer answers than its quorum.
type QuorumError struct {
	Members []Member
	Quorum  int
}

// Error names the outcome of each member that has not answered.
func (e *QuorumError) Error() string {
	var rest []string
	for _, v := range e.Members {
		if v.State != Answered {
			rest = append(rest, v.Name.String()+" "+v.outcome())
		}
	}
	return fmt.Sprintf("%d of %d members answered, and %d are needed: %s",
		count(e.Members, Answered), len(e.Members), e.Quorum, strings.Join(rest, "; "))
}

// Unwrap returns the faults of the members that failed.
func (e *QuorumError) Unwrap() []error {
	var all []error
	for _, v := range e.Members {
		if v.State == Failed && v.Fault != nil {
			all = append(all, v.Fault)
		}
	}
	return all
}

// outcome describes the end of a member that has not answered.
func (m Member) outcome() string {
	switch {
	case m.State == CutOff && m.Fault != nil:
		return fmt.Sprintf("was cut off after %v (%v), having met: %s", m.Took.Round(time.Millisecond), m.Why, m.Fault.Redacted())
	case m.State == CutOff:
		return fmt.Sprintf("was cut off after %v (%v)", m.Took.Round(time.Millisecond), m.Why)
	}
	return fmt.Sprintf("failed %s: %s", inTries(m.Tries), m.Fault.Redacted())
}

// inTries describes how often a model was asked.
func inTries(n int) string {
	switch n {
	case 0:
		return "without being asked"
	case 1:
		return "in 1 try"
	}
	return fmt.Sprintf("in %d tries", n)
}
