package council

import (
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// Event is something that happens in a council: [Opened], [Changed],
// [Quorate], [Judging] or [Closed].
type Event interface{ event() }

// Opened is the first event.
type Opened struct {
	Members    []llm.Name
	Aggregator llm.Name
	Terms      Council // that hold, with all that was left open
}

// Changed tells that a member stands otherwise than before, and every 30
// seconds that it still stands there.
type Changed struct {
	Member int // its place in the council
	Voice
	Still bool // it has not changed
}

// Quorate tells that enough have answered: the rest has so much time left.
type Quorate struct {
	Members []Voice
	Grace   time.Duration // until they are cut off
}

// Judging is an event of the aggregator's turn, which begins with its start
// and ends with its seal. What it was asked is none of them.
type Judging struct{ turn.Event }

// Closed is the last event: what Run returns.
type Closed struct {
	Result
	Err error
}

// Status is how the council has ended: as done where there is an answer, as
// aborted where somebody has stopped it, else as failed.
func (c Closed) Status() turn.Status {
	stopped := func(v Voice) bool { return v.State == CutOff && v.reason() == "stopped" }
	switch {
	case c.Err == nil:
		return turn.Done
	case stopped(c.Aggregator) || slices.ContainsFunc(c.Members, stopped):
		return turn.Aborted
	}
	return turn.Failed
}

func (Opened) event()  {}
func (Changed) event() {}
func (Quorate) event() {}
func (Judging) event() {}
func (Closed) event()  {}
