// Package gemini is Google's API, in any of its versions, of Vertex AI and of Code Assist, which wraps the same answer
// in a member "response".
package gemini

import (
	"bytes"
	_ "embed"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// API returns Google's API, in any of its versions, of Vertex AI and of Code Assist, which wraps the
// same answer in a member "response".
func API() *api.API { return generateContent }

//go:embed encode.txt
var forms string

var generateContent = api.New(api.Definition{
	Name:           "gemini",
	IsRequest:      isRequest,
	Beside:         []string{":countTokens/", ":embedContent/", ":batchEmbedContents/", "/v1beta/"},
	StreamForm:     api.Events,
	FormFromURL:    form,
	ModelInPath:    modelInPath,
	Decode:         decode,
	Forms:          []string{forms},
	IsPlainContent: isPlainContent,
	Prelude:        new(api.PreludeRules),
	Continuation:   func() api.Continuation { return new(continuation) },
	Arrays:         true,
	EndsWithConnection: func(c api.Client, _ func(func(part []byte) (more bool)) bool) bool {
		return c.Program() == api.GeminiCLI
	},
	FinalEvent: func(c api.Client, _ *fault.Error, message string) ([]byte, bool) {
		if !readsBareErrors(c) {
			return nil, false
		}
		return errorBody("FAILED_PRECONDITION", message), true
	},
	BrokenEvent:   func(c api.Client, _ bool, body []byte) ([]byte, bool) { return body, readsBareErrors(c) },
	Ping:          ping,
	Comment:       func(string) string { return "" },
	AbortsOnError: true, // its clients take an error inside a stream for a chunk without text
	Errors: api.ErrorFormat{
		Body: errorBody,
		// Google ends its lines with CRLF; a Go client that sees both kinds reads two events as one.
		Frame: func(body []byte) string { return "data: " + string(body) + "\r\n\r\n" },
		Other: "UNAVAILABLE",
		Limit: "RESOURCE_EXHAUSTED",
		Types: map[fault.Kind]string{
			fault.Quota:   "RESOURCE_EXHAUSTED",
			fault.Auth:    "UNAUTHENTICATED",
			fault.Invalid: "INVALID_ARGUMENT",
			fault.Refused: "PERMISSION_DENIED",
			fault.TooLong: "INVALID_ARGUMENT",
		},
	},
})

// The methods that ask for an answer.
const (
	generate       = "generateContent"
	streamGenerate = "streamGenerateContent"
)

// verb returns the method in a path such as /v1beta/models/M:generateContent, which follows the last colon; "": none.
func verb(path string) string {
	i := strings.LastIndexByte(path, ':')
	if i < 0 {
		return ""
	}
	return path[i+1:]
}

// modelInPath finds the model between /models/ and the method.
func modelInPath(path string) api.Span {
	end := strings.LastIndexByte(path, ':')
	slash := strings.LastIndexByte(path[:max(end, 0)], '/')
	if !hasModel(path[:max(slash, 0)]) {
		return api.Span{}
	}
	return api.Span{Begin: slash + 1, End: end}
}

// hasModel reports whether what follows in a path is a model, or an endpoint on which one is deployed.
var hasModel = api.HasPathSuffix("/models", "/tunedModels", "/endpoints")

func isRequest(path string) bool {
	verb := verb(path)
	return verb == generate || verb == streamGenerate
}

// form returns the form that a request chooses.
func form(u *url.URL) api.Form {
	switch {
	case verb(u.Path) != streamGenerate:
		return api.JSON
	case u.Query().Get("alt") == "sse":
		return api.Events
	}
	return api.Array
}

// isPlainContent recognizes a chunk that begins with a candidate, as no error does, and has no
// finishReason. Inside a text that word has a backslash before its quote.
func isPlainContent(frame []byte) bool {
	const space = " \r\n"
	i := bytes.IndexByte(frame[:min(len(frame), 8)], '{')
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(frame[i+1:], space), []byte(`"candidates"`))
	if !ok || !bytes.HasPrefix(bytes.TrimLeft(rest, ":["+space), []byte("{")) {
		return false
	}
	return !bytes.Contains(rest, []byte(`finishReason"`))
}

// ping keeps a stream alive: a comment breaks its clients. A Go client that sees both kinds of line ends reads two
// events as one.
func ping(c api.Client, _ string, crlf bool) string {
	event, end := "", "\n\n"
	if crlf {
		end = "\r\n\r\n"
	}
	if readsNoBlankLines(c) {
		event = "data: {}"
	}
	return event + end
}

// readsNoBlankLines reports whether a client expects an event at once after another, and loses the stream at a blank
// line ("Failed to parse stream"): @google/generative-ai 0.24.1 and @langchain/google-genai 2.3.2, Firebase's 13.2.0
// and @google-cloud/vertexai 1.12.0. To @google/genai and the SDKs of Go and Python an event without candidates is a
// part of the answer, for which their callers are not prepared.
func readsNoBlankLines(c api.Client) bool {
	return strings.Contains(c.Library, "genai-js/") || strings.Contains(c.Library, " fire/") || strings.Contains(c.Agent, " grpc-node/")
}

// readsBareErrors reports whether a client has Google's SDK, which finds an error in a stream only as JSON in a write
// of its own.
func readsBareErrors(c api.Client) bool { return c.Program() == api.GeminiCLI || c.Program() == api.Pi }

// errorBody writes an error as the API does.
var errorBody = api.ErrorBody(forms, map[string]int{
	"UNAVAILABLE": 503, "RESOURCE_EXHAUSTED": 429, "UNAUTHENTICATED": 401,
	"INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "PERMISSION_DENIED": 403,
})
