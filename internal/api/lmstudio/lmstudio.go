// Package lmstudio is LM Studio's own REST API, version 1 (docs: "Streaming events"). Its version 0, and the API below
// /v1, is OpenAI's.
package lmstudio

import (
	_ "embed"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// API returns LM Studio's own REST API, version 1 (docs: "Streaming events"). Its version 0, and the
// API below /v1, is OpenAI's.
func API() *api.API { return chat }

//go:embed encode.txt
var forms string

var chat = api.New(api.Definition{
	Name:           "lmstudio",
	IsRequest:      api.HasPathSuffix("/api/v1/chat"),
	Beside:         []string{"/api/v1/models/load/", "/api/v1/models/unload/", "/api/v1/models/download/"},
	SeesError:      api.SeesNamedError,
	StreamForm:     api.Events,
	Memory:         map[string]func([]byte) bool{"previous_response_id": api.IsNamed},
	Decode:         decode,
	Forms:          []string{forms},
	IsPlainContent: api.BeginsWith("event: message.delta\n"),
	Prelude:        &api.PreludeRules{Closes: true},
	Ping:           api.PingComment,
	AbortsOnError:  true,
	Errors: api.ErrorFormat{
		Body:  errorBody,
		Event: event,
		Other: "internal_error",
		Types: map[fault.Kind]string{
			fault.Auth:    "authentication_error",
			fault.Invalid: "invalid_request",
			fault.Refused: "invalid_request",
			fault.TooLong: "invalid_request",
		},
	},
})

// errorBody writes an error as the API does.
func errorBody(kind, message string) []byte { return []byte(`{"error":` + detail(kind, message) + `}`) }

func event(kind, message string) string {
	return string(api.EventFrame([]byte("error"), []byte(`{"type":"error","error":`+detail(kind, message)+`}`)))
}

// detail returns what an error says.
func detail(kind, message string) string {
	return `{"type":` + string(api.Quote(kind)) + `,"message":` + string(api.Quote(message)) + `,"code":null,"param":null}`
}
