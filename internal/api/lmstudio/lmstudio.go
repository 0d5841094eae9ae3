// Package lmstudio is LM Studio's own REST API, version 1 (docs: "Streaming events"). Its version 0, and the API below
// /v1, is OpenAI's.
package lmstudio

import (
	"encoding/json"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// API returns LM Studio's own REST API, version 1 (docs: "Streaming events"). Its version 0, and the
// API below /v1, is OpenAI's.
func API() *api.API { return chat }

var chat = api.New(api.Definition{
	Name:           "lmstudio",
	IsRequest:      api.HasPathSuffix("/api/v1/chat"),
	SeesError:      api.SeesNamedError,
	StreamForm:     api.Events,
	Memory:         map[string]func([]byte) bool{"previous_response_id": api.IsNamed},
	Decode:         decode,
	Forms:          []string{forms},
	IsPlainContent: api.BeginsWith("event: message.delta\n"),
	Prelude:        &prelude,
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

type detail struct {
	Type    string  `json:"type"`
	Message string  `json:"message"`
	Code    *string `json:"code"`
	Param   *string `json:"param"`
}

// errorBody writes an error as the API does.
func errorBody(kind, message string) []byte {
	body, _ := json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{Type: kind, Message: message}})
	return body
}

func event(kind, message string) string {
	data, _ := json.Marshal(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
	}{"error", detail{Type: kind, Message: message}})
	return "event: error\ndata: " + string(data) + "\n\n"
}

var prelude = api.PreludeRules{Close: func(*api.Position) []byte {
	return api.EventFrame([]byte("reasoning.end"), []byte(`{"type":"reasoning.end"}`))
}}
