package openai

import (
	"bytes"
	_ "embed"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// Responses returns the Responses API of OpenAI (docs: "Streaming events").
func Responses() *api.API { return responses }

//go:embed responses.txt
var responsesForms string

var responses = api.New(api.Definition{
	Name:           "openai-responses",
	IsRequest:      api.HasPathSuffix("/responses", "/responses/compact"),
	Beside:         []string{"/v1/responses/"},
	SeesError:      api.SeesNamedError,
	StreamForm:     api.Events,
	Unseen:         []string{"client_metadata", "metadata"},                                                        // Codex's, in another order in each re-send (0.169.0); OpenAI's tags of a response
	Memory:         map[string]func([]byte) bool{"previous_response_id": api.IsNamed, "conversation": api.IsNamed}, // for 30 days
	Bounds:         map[string]func(*api.Bounds, []byte){"max_output_tokens": func(b *api.Bounds, n []byte) { b.Output = api.Number(n) }},
	Note:           responsesNote,
	Decode:         decodeResponses,
	Forms:          []string{sharedForms, responsesForms},
	Whole:          decodeOutput,
	IsPlainContent: isResponsesPlainContent,
	Prelude:        &responsesPrelude,
	Continuation:   func() api.Continuation { return new(responsesContinuation) },
	Ping:           api.PingComment,
	Heartbeat:      responsesHeartbeat,
	FinalEvent:     responsesFinalEvent,
	Errors: api.ErrorFormat{
		Body:  errorBody,
		Event: responsesErrorEvents,
		Other: "server_error",
		Types: map[fault.Kind]string{
			fault.Quota:       "insufficient_quota",
			fault.RateLimited: "rate_limit_exceeded",
			fault.Auth:        "authentication_error",
			fault.Invalid:     "invalid_request_error",
			fault.Refused:     "permission_error",
			fault.TooLong:     "context_length_exceeded",
		},
	},
})

// responsesNote finds an answer that was cut at its limit: llama-server (August 2026) and Ollama 0.17.4 call it completed.
func responsesNote(b api.Bounds, e api.Ending) api.Note {
	if e.Plain && b.Output > 0 && e.Usage.Output >= b.Output {
		return api.AtLimit
	}
	return ""
}

// isResponsesPlainContent recognizes deltas by the name, or by the type, which relays put first where they leave the name
// out.
func isResponsesPlainContent(frame []byte) bool {
	const named, unnamed = "event: response.", `data: {"type":"response.`
	var rest, end []byte
	switch {
	case bytes.HasPrefix(frame, []byte(named)):
		rest, end = frame[len(named):], []byte("\n")
	case bytes.HasPrefix(frame, []byte(unnamed)):
		rest, end = frame[len(unnamed):], []byte(`"`)
	default:
		return false
	}
	kind, _, ok := bytes.Cut(rest, end)
	return ok && bytes.HasSuffix(kind, []byte(".delta"))
}

// responsesHeartbeat is for Codex only, whose idle timer comments do not reset.
func responsesHeartbeat(c api.Client) string {
	if c.Program() != api.Codex {
		return ""
	}
	return "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n"
}

// responsesFinalEvent is for clients that send the request again after any other error.
func responsesFinalEvent(c api.Client, last *fault.Error, message string) (event []byte, cut bool) {
	if (c.Program() == api.Codex || c.ReadsWords()) && last.Kind == fault.Invalid {
		return []byte(responsesErrorEvents("invalid_prompt", message)), false
	}
	return nil, false
}

// responsesErrorEvents writes an error as the API does, twice: SDKs look for the first event, Codex for the
// second. The first has everything in two places: the documentation uses one and the API the other.
func responsesErrorEvents(kind, message string) string {
	name := string(api.Quote(kind))
	cause := `"code":` + name + `,"message":` + string(api.Quote(message))
	first := `{"type":"error",` + cause + `,"param":null,"sequence_number":0,` +
		`"error":{"type":` + name + `,` + cause + `,"param":null}}`
	second := `{"type":"response.failed","sequence_number":0,"response":{"id":"","object":"response","status":"failed",` +
		`"error":{` + cause + `},"output":[]}}`
	return "event: error\ndata: " + first + "\n\nevent: response.failed\ndata: " + second + "\n\n"
}
