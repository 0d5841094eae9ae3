package gateway

import (
	"cmp"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/clip"
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
}

// heldState is what has become of a request that gateways tell each other of.
type heldState string

// The states.
const (
	heldThere heldState = "held"   // a client waits there
	leftThere heldState = "left"   // its client has left, or was sent away
	failed    heldState = "failed" // it was given up
	overThere heldState = "over"   // it is answered
)

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
	Fault    *heldFault     `json:"fault,omitempty"`

	At      time.Duration `json:"at,omitzero"`
	Until   time.Duration `json:"until,omitzero"`
	Latest  time.Duration `json:"latest,omitzero"`
	Stayed  time.Duration `json:"stayed,omitzero"`
	Silence time.Duration `json:"silence,omitzero"`
}

// fromNow returns a time as a duration from now; 0: it is zero.
func fromNow(t, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return cmp.Or(t.Sub(now), 1)
}

// timeOf is the reverse of fromNow.
func timeOf(d time.Duration, now time.Time) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return now.Add(d)
}

// entry returns the request as an entry.
func (f *failedRequest) entry(state heldState, now time.Time) heldEntry {
	w := f.last
	e := heldEntry{
		Key: f.fleetKey, State: state,
		Run: w.Run, Started: fromNow(w.Run.Started, now), Opens: fromNow(w.Run.Opens, now),
		Verdict: w.Verdict, Due: fromNow(w.Due, now), Deadline: fromNow(w.Deadline, now), Waited: w.Waited, Limit: w.Limit,
		At: fromNow(f.at, now), Until: fromNow(f.until, now), Latest: fromNow(f.latest, now), Stayed: f.stayed, Silence: f.silence,
	}
	e.Run.Started, e.Run.Opens = time.Time{}, time.Time{}
	if w.Fault != nil {
		e.Fault = newHeldFault(w.Fault, now)
	}
	return e
}

// request is the reverse of entry.
func (e *heldEntry) request(now time.Time) failedRequest {
	f := failedRequest{
		fleetKey: e.Key, at: timeOf(e.At, now), until: timeOf(e.Until, now), latest: timeOf(e.Latest, now), stayed: e.Stayed, silence: e.Silence,
		last: policy.Wait{
			Run: e.Run, Verdict: e.Verdict, Due: timeOf(e.Due, now), Deadline: timeOf(e.Deadline, now), Waited: e.Waited, Limit: e.Limit,
		},
	}
	f.last.Run.Started, f.last.Run.Opens = timeOf(e.Started, now), timeOf(e.Opens, now)
	if e.Fault != nil {
		f.last.Fault = e.Fault.fault(now)
	}
	return f
}

// heldFault is the fault of an entry's last try. Its message has no words of the request, see [quotePermit].
type heldFault struct {
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

// messageBound is how much of a provider's text is told, in bytes.
const messageBound = 512

func newHeldFault(f *fault.Error, now time.Time) *heldFault {
	return &heldFault{
		Kind: f.Kind.String(), Status: f.Status, Code: f.Code, Message: clip.Text(fault.Scrub(f.Message), messageBound),
		Wait: f.Wait, Resets: fromNow(f.ResetAt, now), Window: f.Window, GivenUp: f.GivenUp, Retries: f.Retries,
	}
}

// fault is the reverse of newHeldFault.
func (f *heldFault) fault(now time.Time) *fault.Error {
	return &fault.Error{
		Kind: fault.KindOf(f.Kind), Status: f.Status, Code: f.Code, Message: f.Message, Wait: f.Wait,
		ResetAt: timeOf(f.Resets, now), Window: f.Window, GivenUp: f.GivenUp, Retries: f.Retries, Rule: "gateway/fleet",
	}
}
