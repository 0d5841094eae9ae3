// Package anthropic is Anthropic's Messages API (docs: "Streaming Messages", "Errors"), at Anthropic and below Vertex
// AI's paths. Bedrock's InvokeModel has the same events.
package anthropic

import (
	_ "embed"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// Messages returns the Messages API of Anthropic (docs: "Streaming Messages", "Errors").
func Messages() *api.API { return messages }

var messages = api.New(definition)

//go:embed encode.txt
var forms string

// Forms returns what the Messages API writes, for the APIs that write it too.
func Forms() string { return forms }

var definition = api.Definition{
	Name:       "anthropic",
	IsRequest:  api.HasPathSuffix("/v1/messages"),
	Beside:     []string{"/v1/messages/", "/v1/complete/"},
	StreamForm: api.Events,
	Decode:     Decode,
	Forms:      []string{forms},
	Whole:      decodeContent,
	Memory: map[string]func([]byte) bool{
		"thread": func(value []byte) bool { return api.TextOf(api.Member(value, "type")) == "continue" },
	},
	Forgotten:      forgotten,
	SeesError:      func(name, _ []byte) bool { return string(name) == "error" },
	IsPlainContent: api.BeginsWith("event: content_block_delta\n"),
	Prelude:        &prelude,
	Continuation:   func() api.Continuation { return new(Continuing) },
	Ping:           func(api.Client, string, bool) string { return ping },
	Comment:        func(text string) string { return ": " + text + "\n" + ping }, // no reader sees an event without data
	Heartbeat:      heartbeat,
	Errors: api.ErrorFormat{
		Body:  errorBody,
		Frame: func(body []byte) string { return "event: error\ndata: " + string(body) + "\n\n" },
		Other: "overloaded_error",
		Limit: "rate_limit_error",
		Types: map[fault.Kind]string{
			fault.Quota:   "rate_limit_error",
			fault.Auth:    "authentication_error",
			fault.Invalid: "invalid_request_error",
			fault.Refused: "permission_error",
			fault.TooLong: "request_too_large",
		},
	},
	HeartbeatWithin: func(string, string) string {
		return "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":0}}\n\n"
	},
	EndsWithConnection: func(c api.Client, body func(func(part []byte) (more bool)) bool) bool {
		return c.Program() == api.VercelSDK && c.WithBody(body).Told == api.Cline
	},
	FinalBody: func(c api.Client, message string) []byte {
		if c.Program() != api.ClaudeCode {
			return nil
		}
		// At any other 400 it leaves out one feature after the other and sends six requests (2.1.330).
		return errorBody("billing_error", message)
	},
	// After an error event Claude Code asks for an answer that is not streamed, and leaves that one after 300 s.
	BrokenEvent: func(c api.Client, within bool, _ []byte) ([]byte, bool) {
		return nil, within && c.Program() == api.ClaudeCode
	},
}

const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// heartbeat is for Claude Code only, whose idle timer pings do not reset; the Vercel AI SDK breaks
// on it.
func heartbeat(c api.Client) string {
	if c.Program() != api.ClaudeCode {
		return ""
	}
	return "event: message_delta\ndata: {\"type\":\"keepalive\"}\n\n"
}

// forgotten is for continued threads, which last five minutes. The SDK's helper then sends the whole history, but only
// after an answer with a status: it finds no details in a stream's error (@anthropic-ai/sdk 1.14.0).
func forgotten(message string) []byte {
	cause := api.Object{}.With("type", api.Quote("not_found_error")).With("message", api.Quote(message)).
		With("details", []byte(`{"error_code":"thread_not_found"}`))
	return api.Object{}.With("type", api.Quote("error")).With("error", cause.JSON()).JSON()
}

// errorBody writes an error as the API does. A transient fault is always called overloaded: Claude
// Code answers any other type with a request that is not streamed and that nothing can keep alive.
var errorBody = api.ErrorBody(forms, nil)
