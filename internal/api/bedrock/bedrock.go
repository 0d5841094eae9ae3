// Package bedrock is Amazon Bedrock: InvokeModel, whose bodies are those of the model's own vendor, and Converse. Its
// streams are AWS's event streams, which package api cuts and reads.
package bedrock

import (
	"bytes"
	_ "embed"
	"net/url"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
)

// Invoke returns InvokeModel and InvokeModelWithResponseStream of Amazon Bedrock, whose bodies are those
// of the model's own vendor.
func Invoke() *api.API { return invoke }

// Converse returns Converse and ConverseStream of Amazon Bedrock.
func Converse() *api.API { return converse }

//go:embed invoke.txt
var invokeForms string

//go:embed converse.txt
var converseForms string

var invoke = api.New(api.Definition{
	Name:           "bedrock-invoke",
	IsRequest:      hasVerb("invoke", "invoke-with-response-stream"),
	StreamForm:     api.AWSEvents,
	FormFromURL:    form,
	ModelInPath:    model,
	Decode:         decodeInvoke,
	Forms:          []string{anthropic.Forms(), invokeForms},
	IsPlainContent: isPlainContent,
	Prelude:        &invokePrelude,
	Continuation:   func() api.Continuation { return &anthropic.Continuing{Event: "chunk"} },
	IsError:        isError,
	Ping:           ping,
	Heartbeat:      heartbeat,
	Errors:         errors,
})

var converse = api.New(api.Definition{
	Name:           "bedrock-converse",
	IsRequest:      hasVerb("converse", "converse-stream"),
	StreamForm:     api.AWSEvents,
	FormFromURL:    form,
	ModelInPath:    model,
	Decode:         decodeConverse,
	Forms:          []string{converseForms},
	SaysUnfinished: func([]byte) bool { return true }, // only messageStop ends an answer: the usage comes without it too
	Prelude:        &conversePrelude,
	Continuation:   func() api.Continuation { return new(converseContinuation) },
	IsError:        isError,
	Ping:           ping,
	Errors:         errors,
})

// errors are the exceptions of both (docs: "InvokeModel", "ConverseStream", section "Errors").
var errors = api.ErrorFormat{
	Body:      errorBody,
	Header:    "X-Amzn-Errortype",
	Exception: exception,
	Other:     "ServiceUnavailableException",
	Types: map[fault.Kind]string{
		fault.RateLimited:     "ThrottlingException",
		fault.Quota:           "ServiceQuotaExceededException",
		fault.Timeout:         "ModelTimeoutException",
		fault.UpstreamTimeout: "ModelTimeoutException",
		fault.Truncated:       "ModelStreamErrorException",
		fault.Auth:            "UnrecognizedClientException",
		fault.Refused:         "AccessDeniedException",
		fault.Invalid:         "ValidationException",
		fault.TooLong:         "ValidationException",
	},
}

// verb returns the model and the verb in a path such as /model/M/invoke, or "" for any other path. A model
// may be an ARN, with slashes and colons.
func verb(path string) (model, verb string) {
	_, path, ok := strings.Cut(path, "/model/")
	i := strings.LastIndexByte(path, '/')
	if !ok || i <= 0 {
		return "", ""
	}
	return path[:i], path[i+1:]
}

// hasVerb returns a function that reports whether a path ends with one of the given verbs.
func hasVerb(verbs ...string) func(string) bool {
	return func(path string) bool {
		_, got := verb(path)
		return slices.Contains(verbs, got)
	}
}

// form reads the form from the path: the body does not choose.
func form(u *url.URL) api.Form {
	if _, verb := verb(u.Path); strings.HasSuffix(verb, "-stream") {
		return api.AWSEvents
	}
	return api.JSON
}

// model finds the model in the path.
func model(path string) api.Span {
	model, verb := verb(path)
	end := len(path) - len("/") - len(verb)
	if model == "" {
		return api.Span{}
	}
	return api.Span{Begin: end - len(model), End: end}
}

// ping returns an event of a type that no SDK knows: all skip it. The member p is AWS's own padding.
func ping(_ api.Client, state string, _ bool) string {
	var payload api.Object
	if state != "" {
		payload = payload.With("p", api.Quote(state))
	}
	return string(api.AWSEvent([]byte("keepalive"), payload.JSON()))
}

// heartbeat is for Claude Code only, whose idle timer counts the events of the model: not the ping, which
// its SDK skips, and of Anthropic's events only this one does not disturb it before the first.
func heartbeat(c api.Client) string {
	if c.Program() != api.ClaudeCode {
		return ""
	}
	return string(api.AWSEvent([]byte("chunk"), []byte(`{"type":"message_delta","delta":{},"usage":{"output_tokens":0}}`)))
}

// isPlainContent recognizes a chunk with Anthropic's content_block_delta by how its base64 begins.
func isPlainContent(frame []byte) bool {
	m, ok := api.ParseAWSMessage(frame)
	return ok && bytes.HasPrefix(m.Payload, []byte(`{"bytes":"eyJ0eXBlIjoiY29udGVudF9ibG9ja19kZWx0`))
}

// isError reports whether a member makes a body an error of AWS: its text, which no answer has at the
// top, or its type.
func isError(key, value []byte) bool {
	switch string(key) {
	case "message", "Message":
		return len(value) > 0 && value[0] == '"'
	case "__type":
		return true
	}
	return false
}

// errorBody writes an error as the API does. Its type is in a header too.
func errorBody(kind, message string) []byte {
	return api.Object{}.With("__type", api.Quote(kind)).With("message", api.Quote(message)).JSON()
}

// exception returns an error as a message of a stream, where its name begins in lower case.
func exception(kind, message string) []byte {
	payload := api.Object{}.With("message", api.Quote(message)).JSON()
	return api.AWSFrame("exception", strings.ToLower(kind[:1])+kind[1:], payload)
}
