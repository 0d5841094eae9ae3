package council

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// Result is the outcome of a council, or as much of it as there is.
type Result struct {
	Status     turn.Status // Done with an answer, Aborted by the caller, or Failed
	Answer     string      // the council's one answer; "": there is none, or not all of it
	Members    []Member    // in the order of the council's
	Aggregator Member      // State "": it was not asked. Text has a partial answer if it failed
	Took       time.Duration
}

// result returns the result of a run that ended with an error; nil: with none.
func (r *run) result(err error) Result {
	stopped := func(v Member) bool { return v.State == CutOff && v.reason() == "stopped" }
	o := Result{Members: r.members, Aggregator: r.aggregator, Took: time.Since(r.began), Status: turn.Failed}
	switch {
	case err == nil:
		o.Status, o.Answer = turn.Done, r.aggregator.Text
	case stopped(r.aggregator) || slices.ContainsFunc(r.members, stopped):
		o.Status = turn.Aborted
	}
	return o
}

func count(members []Member, s State) (n int) {
	for _, v := range members {
		if v.State == s {
			n++
		}
	}
	return n
}

// Member is the state of a member, or of the aggregator.
type Member struct {
	Index int // of the member, from 0
	Name  llm.Name
	State State
	Tries int           // requests to its model; a failure shared with another member is none
	Took  time.Duration // from its beginning to its end, or until now
	Left  time.Duration // of its budget

	Text   string     // its answer, once it is whole
	Reason llm.Reason // why the answer ended
	Usage  llm.Usage  // of all its tries

	Fault *fault.Error // of its last failed try; nil: none

	Wait   time.Duration // in Waiting: until its next try; 0: it waits for the breaker
	Hinted bool          // the provider asked for that wait
	Why    error         // in CutOff: the cause
}

// ErrQuorum is in the error of a council with fewer answers than its quorum.
var ErrQuorum = errors.New("too few members answered")

// quorumError names the outcome of each member that has not answered.
type quorumError struct {
	members []Member
	quorum  int
}

// Error names the members without an answer, each with what became of it.
func (e *quorumError) Error() string {
	var rest []string
	for _, v := range e.members {
		if v.State != Answered {
			rest = append(rest, v.Name.String()+" "+v.outcome())
		}
	}
	return fmt.Sprintf("%d of %d members answered, and %d are needed: %s",
		count(e.members, Answered), len(e.members), e.quorum, strings.Join(rest, "; "))
}

// Unwrap returns ErrQuorum and the faults of the members that failed.
func (e *quorumError) Unwrap() []error {
	all := []error{ErrQuorum}
	for _, v := range e.members {
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
	if n == 0 {
		return "without being asked"
	}
	return "in " + text.Count(n, "try", "tries")
}
