package agent

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// Report is something that happens between a turn and its models, for logs and measurements: a try, or an event
// of the turn. It has nothing of the conversation but what a provider's message may quote.
type Report struct {
	At   time.Time
	Name llm.Name  // the model that is asked
	Try  retry.Try // has passed or failed; N 0: see Event

	// Event is turn.Start, turn.Retry, turn.Switched (then Name is the model that takes over), turn.Recovered,
	// turn.Error or turn.Sealed. nil: see Try.
	Event turn.Event
}

// report reports an event of the turn to OnReport, if it is one of a [Report].
func (r *run) report(e turn.Event) {
	switch e.(type) {
	case turn.Start, turn.Retry, turn.Switched, turn.Recovered, turn.Error, turn.Sealed:
		if r.OnReport != nil {
			r.OnReport(Report{At: time.Now(), Name: r.current().Name(), Event: e})
		}
	}
}

// reportTry reports a try to OnReport. One that the caller left, and the end of an answer that broke off, say
// nothing new about the model.
func (a *attempt) reportTry(t retry.Try) {
	if a.OnReport == nil || t.Stop == policy.Committed || t.Fault != nil && t.Fault.Kind == fault.Canceled {
		return
	}
	a.OnReport(Report{At: time.Now(), Name: a.model.Name(), Try: t})
}
