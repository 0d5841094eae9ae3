// Package told has what the gateways of a fleet tell each other of times and faults: durations from when it is sent,
// as clocks differ, and nothing that quotes a request.
package told

import (
	"cmp"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clip"
)

// In returns a time as a duration from now; 0: it is zero.
func In(t, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return cmp.Or(t.Sub(now), 1)
}

// Time is the reverse of [In]. A time is at most a month away.
func Time(d time.Duration, now time.Time) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return now.Add(min(max(d, -longest), longest))
}

// Duration returns a duration that was told: from 0 to a month.
func Duration(d time.Duration) time.Duration { return min(max(d, 0), longest) }

// longest bounds what is told: arithmetic with more would overflow.
const longest = 31 * 24 * time.Hour

// Fault is the fault of a try. Times are as of [In].
type Fault struct {
	Kind    string        `json:"kind"`
	Status  int           `json:"status,omitzero"`
	Code    string        `json:"code,omitzero"`
	Message string        `json:"message,omitzero"`
	Wait    time.Duration `json:"wait,omitzero"`
	Resets  time.Duration `json:"resets,omitzero"`
	Window  bool          `json:"window,omitzero"`
	GivenUp bool          `json:"givenUp,omitzero"`
	Retries int           `json:"retries,omitzero"`
}

// NewFault returns what is told of a fault, with so many bytes of its message; nil: there is none. The message must
// have no words of the request but for what [fault.Scrub] finds.
func NewFault(f *fault.Error, message int, now time.Time) *Fault {
	if f == nil {
		return nil
	}
	return &Fault{
		Kind: f.Kind.String(), Status: f.Status, Code: f.Code, Message: clip.Text(fault.Scrub(f.Message), message),
		Wait: f.Wait, Resets: In(f.ResetAt, now), Window: f.Window, GivenUp: f.GivenUp, Retries: f.Retries,
	}
}

// Error is the reverse of [NewFault], with the rule that the fault is to have; nil stays nil.
func (f *Fault) Error(rule string, now time.Time) *fault.Error {
	if f == nil {
		return nil
	}
	return &fault.Error{
		Kind: fault.KindOf(f.Kind), Status: f.Status, Code: f.Code, Message: f.Message, Wait: Duration(f.Wait),
		ResetAt: Time(f.Resets, now), Window: f.Window, GivenUp: f.GivenUp, Retries: f.Retries, Rule: rule,
	}
}
