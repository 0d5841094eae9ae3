package gateway

import (
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// Type is the type of an event.
type Type string

// The types of events, in the order in which one request may have them.
const (
	Began     Type = "began"     // a request for an answer has arrived
	Joined    Type = "joined"    // it is the re-send of a request in progress, and waits with that one
	Tried     Type = "tried"     // a try has passed or failed: see Try
	Retrying  Type = "retrying"  // a try failed, and another follows after a wait: see Wait
	Switched  Type = "switched"  // the request goes on at another upstream: see From
	Recovered Type = "recovered" // a try passed after others had failed: see Wait
	GaveUp    Type = "gave-up"   // no other try follows: see Wait
	BrokeOff  Type = "broke-off" // an answer failed after its first content: see Wait
	Left      Type = "left"      // the client disconnected before it had its answer: see Wait
	Ended     Type = "ended"     // the request is over: see Status
)

// Event is something that happens to a request for an answer. It has no prompt, no
// answer and no credential in it.
type Event struct {
	Type   Type
	At     time.Time
	Call   Call        // whose
	Wait   policy.Wait // with a Stop if no wait follows, without a Fault if a try has passed
	Try    retry.Try   // its N counts over all upstreams
	From   string      // the upstream before Call.Upstream
	Status int         // of the answer; 0: the client left, or its connection was cut
}

// Call identifies a request for an answer.
type Call struct {
	ID       int64     // the number of the request at this gateway, from 1
	Session  string    // the client's own id of a conversation; "": it sent none
	Client   string    // the client's program, as its User-Agent begins: "claude-cli/2.1.329"
	API      string    // the dialect's name: "openai-responses"
	Upstream string    // the name of the one where it is
	Model    string    // as the request names it; "": it names none
	Stream   bool      // the answer is to be streamed
	Began    time.Time // when it arrived
	Parent   string    // the client's traceparent header (W3C Trace Context); "": none
}

// idBound is how much is kept of what a client sends about itself.
const idBound = 128

// sessionHeaders are the headers in which clients send the id of a conversation.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "Session-Id", "Session_id", "X-Session-Id", "X-Session-Affinity", "Conversation-Id"}

// sessionOf returns the client's own id of its conversation.
func sessionOf(h http.Header) string {
	for _, name := range sessionHeaders {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			return clip(v[0])
		}
	}
	return ""
}

// clientOf returns the client's program.
func clientOf(h http.Header) string {
	if v := h["User-Agent"]; len(v) > 0 {
		first, _, _ := strings.Cut(v[0], " ")
		return clip(first)
	}
	return ""
}

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), idBound)], "") }

// emit calls OnEvent.
func (c *call) emit(e Event) {
	if c.setup.onEvent == nil {
		return
	}
	e.At, e.Call = time.Now(), c.info
	if c.shared != nil {
		e.Call.Upstream = c.shared.upstreamName()
	}
	c.setup.onEvent(e)
}

// emitBrokeOff reports a fault that is not retried because part of the answer is out.
func (c *call) emitBrokeOff(f *fault.Error) {
	last := c.outcome
	last.Run.Tries++
	last.Fault, last.Verdict = f, policy.Verdict{Stop: policy.Committed}
	c.emit(Event{Type: BrokeOff, Wait: last})
}
