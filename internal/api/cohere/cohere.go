// Package cohere is Cohere's API, version 2 (docs: "Chat with streaming", "Errors").
package cohere

import (
	"bytes"
	_ "embed"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// API returns Cohere's API, version 2 (docs: "Chat with streaming", "Errors").
func API() *api.API { return chat }

//go:embed encode.txt
var forms string

var chat = api.New(api.Definition{
	Name:           "cohere",
	IsRequest:      api.HasPathSuffix("/v2/chat"),
	Beside:         []string{"/v2/"},
	SeesError:      api.SeesNamedError,
	StreamForm:     api.Events,
	Decode:         decode,
	Forms:          []string{forms},
	IsPlainContent: api.BeginsWith("event: content-delta\n"),
	Prelude:        &prelude,
	IsError:        isErrorMember,
	Ping:           ping,
	AbortsOnError:  true, // its clients take the last event for an end, whatever its reason
	Errors: api.ErrorFormat{
		Body:  api.ErrorBody(forms, nil),
		Event: func(_, message string) string { return errorEvent(message) },
	},
})

// ping keeps a stream alive. To Cohere's Go client a comment is an event that it cannot read: it gets one of the API that
// says nothing.
func ping(c api.Client, state string, crlf bool) string {
	if strings.HasPrefix(c.Agent, "github.com/cohere-ai/cohere-go/") {
		return "event: debug\ndata: {\"type\":\"debug\"}\n\n"
	}
	return api.PingComment(c, state, crlf)
}

// isFailure reports whether a finish reason is that of an answer that has failed.
func isFailure(reason []byte) bool {
	return string(reason) == `"ERROR"` || string(reason) == `"TIMEOUT"`
}

// isErrorMember reports whether a member makes a body an error: its message is a text and no object, or it
// says that the answer has failed.
func isErrorMember(key, value []byte) bool {
	switch string(key) {
	case "message":
		return value[0] == '"'
	case "finish_reason":
		return isFailure(value)
	}
	return false
}

// errorEvent writes the event that ends a failed stream.
func errorEvent(message string) string {
	data := `{"type":"message-end","delta":{"error":` + string(api.Quote(message)) + `,"finish_reason":"ERROR"}}`
	return string(api.EventFrame([]byte("message-end"), []byte(data)))
}

var prelude = api.PreludeRules{Edit: renumber, Closes: true}

// renumber raises the number of a block. Tool calls are numbered by themselves.
func renumber(p *api.Position, name, data []byte) []byte {
	if bytes.HasPrefix(api.EventName(name, data), []byte("content-")) {
		return api.Shifted(data, "index", p.Base)
	}
	return data
}
