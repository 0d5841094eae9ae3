package gemini

import (
	"bytes"
	_ "embed"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// Interactions returns Google's Interactions API, with the steps of revision 2026-05-20 and the contents of the one
// before (ai.google.dev/gemini-api/docs/interactions, /streaming and /api-errors). An answer that breaks off is not
// completed here: the server keeps it, and its clients continue it with a GET and last_event_id.
func Interactions() *api.API { return interactions }

//go:embed interactions.txt
var interactionForms string

var interactions = api.New(api.Definition{
	Name:           "gemini-interactions",
	IsRequest:      api.HasPathSuffix("/interactions"),
	SeesError:      api.SeesNamedError,
	StreamForm:     api.Events,
	Forms:          []string{interactionForms},
	Memory:         map[string]func([]byte) bool{"previous_interaction_id": api.IsNamed}, // for a day at least
	Decode:         decodeInteractions,
	IsError:        func(key, value []byte) bool { return string(key) == "status" && string(value) == `"failed"` },
	IsPlainContent: isDelta,
	SaysUnfinished: func(frame []byte) bool { return !isDelta(frame) && bytes.Contains(frame, []byte(`"in_progress"`)) },
	Ping:           api.PingComment, // which the SDKs of Python and JavaScript skip
	AbortsOnError:  true,            // the loops of its documentation look at no errors
	Errors: api.ErrorFormat{
		Body: func(code, message string) []byte { return []byte(interactionsError(code, message) + "}") },
		Event: func(code, message string) string {
			return "event: error\ndata: " + interactionsError(code, message) + `,"event_type":"error"}` + "\n\n"
		},
		Other: "service_unavailable",
		Limit: "rate_limit_exceeded",
		Types: map[fault.Kind]string{
			fault.Quota:   "quota_exceeded",
			fault.Auth:    "authentication",
			fault.Invalid: "invalid_request",
			fault.Refused: "permission_denied",
			fault.TooLong: "invalid_request",
		},
	},
})

// isDelta recognizes a part of a step by its name.
func isDelta(frame []byte) bool {
	return bytes.HasPrefix(frame, []byte("event: step.delta\n")) || bytes.HasPrefix(frame, []byte("event: content.delta\n"))
}

// interactionsError writes an error as the API does, up to its last bracket.
func interactionsError(code, message string) string {
	return `{"error":{"message":` + string(api.Quote(message)) + `,"code":"` + code + `"}`
}
