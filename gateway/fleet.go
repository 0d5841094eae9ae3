package gateway

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/told"
	"github.com/ridethrough/ridethrough/policy"
)

// Fleet makes a gateway one of several, at any of which a client may come back: the budget and the tries of its
// request are known there. The others are told what is held here, and [Gateway.Hear] takes in what they tell.
// Nothing is told of a request whose first try is answered, and no request waits for another gateway.
type Fleet struct {
	Replica string // this gateway's name, which no other has
	First   int64  // before the numbers of its requests, so that no other gateway has the same

	// Tell has all others hear an entry. It must not block, and entries may be lost: then a client that comes back
	// elsewhere begins anew.
	Tell func(entry []byte)

	// Answers keeps the answers for clients that have left for all gateways; nil: they stay where they were read.
	Answers Answers
}

// heldState is what has become of a request that gateways tell each other of.
type heldState string

// The states.
const (
	heldThere heldState = "held"   // a client waits there
	leftThere heldState = "left"   // its client has left, or was sent away
	failed    heldState = "failed" // it was given up
	overThere heldState = "over"   // it is answered, and its client has that
	keptThere heldState = "kept"   // it is answered, and its client has left: the answer is in [Fleet.Answers]
	onlyThere heldState = "only"   // likewise, but the answer is at that gateway only
)

// isAnswered reports whether there is an answer, which its client has left.
func (s heldState) isAnswered() bool { return s == keptThere || s == onlyThere }

// heldEntry is what a gateway tells of a request: nothing of what is in it, and no instants, as clocks differ. Its
// times count from when it is sent; 0: none.
type heldEntry struct {
	From  string    `json:"from"`
	Key   string    `json:"key"`
	State heldState `json:"state"`

	Run      policy.Run     `json:"run,omitzero"` // without its times
	Started  time.Duration  `json:"started,omitzero"`
	Opens    time.Duration  `json:"opens,omitzero"`
	Verdict  policy.Verdict `json:"verdict,omitzero"`
	Due      time.Duration  `json:"due,omitzero"`
	Deadline time.Duration  `json:"deadline,omitzero"`
	Waited   time.Duration  `json:"waited,omitzero"`
	Limit    int            `json:"limit,omitzero"`
	Fault    *told.Fault    `json:"fault,omitempty"`

	At      time.Duration `json:"at,omitzero"`
	Until   time.Duration `json:"until,omitzero"`
	Latest  time.Duration `json:"latest,omitzero"`
	Stayed  time.Duration `json:"stayed,omitzero"`
	Silence time.Duration `json:"silence,omitzero"`
}

// entry returns the request as an entry.
func (f *failedRequest) entry(state heldState, now time.Time) heldEntry {
	w := f.last
	e := heldEntry{
		Key: f.fleetKey, State: state,
		Run: w.Run, Started: told.In(w.Run.Started, now), Opens: told.In(w.Run.Opens, now),
		Verdict: w.Verdict, Due: told.In(w.Due, now), Deadline: told.In(w.Deadline, now), Waited: w.Waited, Limit: w.Limit,
		At: told.In(f.at, now), Until: told.In(f.until, now), Latest: told.In(f.latest, now), Stayed: f.stayed, Silence: f.silence,
	}
	e.Run.Started, e.Run.Opens = time.Time{}, time.Time{}
	e.Fault = told.NewFault(w.Fault, messageBound, now)
	return e
}

// request is the reverse of entry.
func (e *heldEntry) request(now time.Time) failedRequest {
	f := failedRequest{
		fleetKey: e.Key, at: told.Time(e.At, now), until: told.Time(e.Until, now), latest: told.Time(e.Latest, now), stayed: e.Stayed, silence: e.Silence,
		last: policy.Wait{
			Run: e.Run, Verdict: e.Verdict, Due: told.Time(e.Due, now), Deadline: told.Time(e.Deadline, now), Waited: e.Waited, Limit: e.Limit,
		},
	}
	f.last.Fault = e.Fault.Error("gateway/fleet", now)
	f.last.Run.Started, f.last.Run.Opens = told.Time(e.Started, now), told.Time(e.Opens, now)
	return f
}

// messageBound is how much of a provider's text is told, in bytes. It has no words of the request, see [quotePermit].
const messageBound = 512
