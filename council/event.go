package council

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// Event is something that happens in a council: [Started], [MemberChanged],
// [QuorumReached], [AggregatorEvent] or [Ended].
type Event interface{ event() }

// Started is the first event.
type Started struct {
	Members    []llm.Name
	Aggregator llm.Name
	Terms      Council // with its defaults
}

// MemberChanged is sent when the state of a member changes, and every 30 seconds
// in between.
type MemberChanged struct {
	Index int // of the member, from 0
	Member
	Still bool // it has not changed
}

// QuorumReached says that enough members have answered.
type QuorumReached struct {
	Members []Member
	Grace   time.Duration // until they are cut off
}

// AggregatorEvent is an event of the aggregator's turn, from its start to its seal,
// without the prompt.
type AggregatorEvent struct{ turn.Event }

// Ended is the last event: what Run returns.
type Ended struct {
	Result
	Err error
}

// Status is how the council ended: done with an answer, aborted by the caller, or
// failed.
func (e Ended) Status() turn.Status {
	stopped := func(v Member) bool { return v.State == CutOff && v.reason() == "stopped" }
	switch {
	case e.Err == nil:
		return turn.Done
	case stopped(e.Aggregator) || slices.ContainsFunc(e.Members, stopped):
		return turn.Aborted
	}
	return turn.Failed
}

func (Started) event()         {}
func (MemberChanged) event()   {}
func (QuorumReached) event()   {}
func (AggregatorEvent) event() {}
func (Ended) event()           {}
