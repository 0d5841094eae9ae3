// Package preamble is what a gateway tells another layer of this project ahead of an answer: why the request
// waits, until when, and how it goes on. It is the first part of the response. The answer follows it in the same
// response, with its own status and headers, so that a wait costs neither of them.
//
// A client that can read it says so in a header. It needs no second connection, no token and no polling, and a
// proxy on the way sees a response that streams. The package is for both sides: gateways write by [Writer],
// and transports read by [Caller].
package preamble

import (
	"encoding/json"
	"net/http"

	"github.com/ridethrough/ridethrough/turn"
)

// Headers between a client and a gateway.
const (
	Accept  = "X-Ridethrough-Accept"   // of a request whose client can read a preamble: [Type]
	MaxWait = "X-Ridethrough-Max-Wait" // of a request: the longest total wait, such as "10m"
	Call    = "X-Ridethrough-Call"     // of a response: the request's number; of a preamble: with a secret that permits commands
	Command = "X-Ridethrough-Command"  // of a request that only has a command for the one in Call: [RetryNow]
)

// Type is the Content-Type of a response that begins with a preamble: lines of JSON, each an event of the request
// with its type, or empty to keep the connection alive. The last one has the type "answer", and the status and the
// headers of the answer, whose body follows.
const Type = "application/vnd.ridethrough.preamble"

// RetryNow is the command that ends a wait.
const RetryNow = "now"

// answerType is the type of the last line.
const answerType = "answer"

// head is the last line, and of the others the type.
type head struct {
	Type   string      `json:"type"`
	Status int         `json:"status,omitzero"`
	Header http.Header `json:"header,omitzero"`
}

// line returns an event as a line.
func line(e turn.Event) []byte {
	members, err := turn.Marshal(e)
	if err != nil || len(members) < len("{}") {
		return nil // no event is one
	}
	text, _ := json.Marshal(head{Type: turn.Type(e)}) // strings always have a form in JSON
	if text = text[:len(text)-1]; string(members) != "{}" {
		text = append(text, ',')
	}
	return append(append(text, members[1:]...), '\n')
}
