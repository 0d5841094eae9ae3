package council

import (
	"time"

	"github.com/ridethrough/ridethrough/turn"
)

// Event is something that happens in a council. Exactly one of Started, Member,
// Quorum, Turn and Ended is set.
type Event struct {
	Started *Council // the first event: the council with its defaults

	Member    *Member // its state has changed, or has been the same for 30 seconds
	Unchanged bool    // with Member: its state is the same

	Quorum []Member      // all members, at the moment when enough of them have answered
	Grace  time.Duration // with Quorum: until the rest is cut off

	Turn turn.Event // of the aggregator's turn, from its start to its seal, without the prompt

	Ended *Result // the last event: the result of Run
	Err   error   // with Ended: the error of Run
}
