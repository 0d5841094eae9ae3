package gateway

import (
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// Type says what an event tells.
type Type string

// The types of events, in the order in which one request may have them.
const (
	Began     Type = "began"     // a request for an answer has come in
	Joined    Type = "joined"    // it is another's, sent again, and waits with that one
	Tried     Type = "tried"     // a try has its outcome: see Try
	Retrying  Type = "retrying"  // a try failed, and another follows after a wait: see Note
	Switched  Type = "switched"  // the request goes on at another upstream
	Recovered Type = "recovered" // a try passed after others had failed: see Note
	GaveUp    Type = "gave-up"   // there is no other try: see Note
	BrokeOff  Type = "broke-off" // an answer failed after its first content: see Note
	Left      Type = "left"      // the client has left before it had its answer
	Ended     Type = "ended"     // the request is over: see Status
)

// Event tells what has happened to a request for an answer. It carries no
// prompt, no answer and no credential.
type Event struct {
	Type   Type
	At     time.Time
	Call   Call   // whose
	Note   Note   // of Retrying, Recovered, GaveUp, BrokeOff and, where it has waited, Left
	Try    Try    // of Tried
	From   string // of Switched: the upstream before Call.Upstream
	Status int    // of Ended: what the client was answered; 0: it left, or its connection was cut
}

// Call says whose a request is.
type Call struct {
	ID       int64     // numbers the gateway's requests for an answer from 1
	Session  string    // the client's own id for what belongs together; "": it sent none
	Client   string    // the client's program, as its User-Agent begins: "claude-cli/2.1.329"
	API      string    // the dialect's name: "openai-responses"
	Upstream string    // the name of the one that it is at
	Model    string    // as the request names it; ""
	Stream   bool      // the answer is to come in parts
	Began    time.Time // when it came in
	Parent   string    // the client's traceparent header (W3C Trace Context); ""
}

// Try is one try of a request.
type Try struct {
	N        int // from 1, over all upstreams
	Upstream string
	Began    time.Time
	Took     time.Duration // until the first content or the fault
	Fault    *fault.Error  // nil: it was answered
	Shared   bool          // nothing was sent: the outcome is that of another request
}

// idBound is how much of what a client says about itself is kept.
const idBound = 128

// sessionHeaders are the headers in which clients name what belongs together.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "Session-Id", "Session_id", "X-Session-Id", "X-Session-Affinity", "Conversation-Id"}

// sessionOf gives the client's own id of its session.
func sessionOf(h http.Header) string {
	for _, name := range sessionHeaders {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			return clip(v[0])
		}
	}
	return ""
}

// clientOf gives the client's program.
func clientOf(h http.Header) string {
	if v := h["User-Agent"]; len(v) > 0 {
		first, _, _ := strings.Cut(v[0], " ")
		return clip(first)
	}
	return ""
}

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), idBound)], "") }

// tell hands an event on to whoever watches the gateway.
func (c *call) tell(e Event) {
	if c.setup.onEvent == nil {
		return
	}
	e.At, e.Call = time.Now(), c.info
	if c.shared != nil {
		e.Call.Upstream = c.shared.upstreamName()
	}
	c.setup.onEvent(e)
}

// tellBrokeOff tells of a fault that is not tried again because part of the answer is
// out.
func (c *call) tellBrokeOff(f *fault.Error) {
	last := c.outcome
	last.Run.Tries++
	last.Fault, last.Verdict = f, policy.Verdict{Stop: policy.Committed}
	c.tell(Event{Type: BrokeOff, Note: noteOfWait(last)})
}
