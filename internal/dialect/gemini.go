package dialect

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Gemini returns Google's API, in any of its versions, of Vertex AI and of Code Assist, which wraps the
// same answer in a member "response".
func Gemini() *Dialect { return &gemini }

var gemini = Dialect{
	name:           "gemini",
	isRequest:      isGeminiRequest,
	streamForm:     Events,
	formFromURL:    geminiForm,
	modelInPath:    geminiModelInPath,
	frameKind:      geminiFrameKind,
	output:         geminiOutput,
	refusal:        geminiRefusal,
	isPlainContent: isGeminiPlainContent,
	prelude:        &geminiPrelude,
	ping:           func(string) string { return "\n\n" }, // a comment breaks its clients
	abortsOnError:  true,                                  // its clients take an error inside a stream for a chunk without text
	errors: errorFormat{
		body: geminiError,
		// Google ends its lines with CRLF; a Go client that sees both kinds reads two events as one.
		event: func(status, message string) string {
			return "data: " + string(geminiError(status, message)) + "\r\n\r\n"
		},
		other: "UNAVAILABLE",
		limit: "RESOURCE_EXHAUSTED",
		types: map[fault.Kind]string{
			fault.Quota:   "RESOURCE_EXHAUSTED",
			fault.Auth:    "UNAUTHENTICATED",
			fault.Invalid: "INVALID_ARGUMENT",
			fault.Refused: "PERMISSION_DENIED",
			fault.TooLong: "INVALID_ARGUMENT",
		},
	},
}

// The methods that ask for an answer.
const (
	generate       = "generateContent"
	streamGenerate = "streamGenerateContent"
)

// geminiVerb returns the model and the method in a path such as /v1beta/models/M:generateContent; "" for a
// path that names no model.
func geminiVerb(path string) (model, verb string) {
	i := strings.LastIndexByte(path, ':')
	if i < 0 {
		return "", ""
	}
	at := geminiModelInPath(path)
	return path[at.Begin:at.End], path[i+1:]
}

// geminiModelInPath finds the model between /models/ and the method.
func geminiModelInPath(path string) Span {
	end := strings.LastIndexByte(path, ':')
	slash := strings.LastIndexByte(path[:max(end, 0)], '/')
	if !hasModel(path[:max(slash, 0)]) {
		return Span{}
	}
	return Span{slash + 1, end}
}

// hasModel reports whether what follows in a path is a model, or an endpoint on which one is deployed.
var hasModel = hasPathSuffix("/models", "/tunedModels", "/endpoints")

func isGeminiRequest(path string) bool {
	_, verb := geminiVerb(path)
	return verb == generate || verb == streamGenerate
}

// geminiForm returns the form that a request chooses.
func geminiForm(u *url.URL) Form {
	switch _, verb := geminiVerb(u.Path); {
	case verb != streamGenerate:
		return JSON
	case u.Query().Get("alt") == "sse":
		return Events
	}
	return Array
}

// geminiFrameKind reads one chunk. One without candidates is an answer too if it carries why the prompt was
// blocked, or usage.
func geminiFrameKind(name, data []byte) FrameKind {
	switch {
	case len(data) == 0:
		return Opening
	case data[0] != '{':
		return Content
	}
	kind, bare, candidates := Opening, Opening, false
	for key, value := range members(data) {
		switch {
		case isErrorMember(key, value):
			return Failure
		case string(key) == "response":
			return geminiFrameKind(name, value)
		case string(key) == "candidates" && !isEmpty(value):
			candidates = true
			for candidate := range elements(value) {
				kind = max(kind, candidateKind(candidate))
			}
		case string(key) == "candidates", string(key) == "promptFeedback", string(key) == "usageMetadata":
			bare = Finish
		}
	}
	if !candidates {
		return bare
	}
	return kind
}

// candidateKind reads one candidate: parts with any content are content, a finishReason completes it.
func candidateKind(candidate []byte) FrameKind {
	kind := Opening
	for key, value := range members(candidate) {
		switch string(key) {
		case "finishReason":
			if !isEmpty(value) && string(value) != `"FINISH_REASON_UNSPECIFIED"` {
				return Finish
			}
		case "content":
			for part := range elements(member(value, "parts")) {
				kind = max(kind, geminiPartKind(part))
			}
		}
	}
	return kind
}

// geminiPartKind returns Content if a part carries anything besides the mark of a thought.
func geminiPartKind(part []byte) FrameKind {
	for key, value := range members(part) {
		if string(key) != "thought" && !isEmpty(value) {
			return Content
		}
	}
	return Opening
}

// isGeminiPlainContent recognizes a chunk that begins with a candidate, as no error does, and has no
// finishReason. Inside a text that word has a backslash before its quote.
func isGeminiPlainContent(frame []byte) bool {
	const space = " \r\n"
	i := bytes.IndexByte(frame[:min(len(frame), 8)], '{')
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(frame[i+1:], space), []byte(`"candidates"`))
	if !ok || !bytes.HasPrefix(bytes.TrimLeft(rest, ":["+space), []byte("{")) {
		return false
	}
	return !bytes.Contains(rest, []byte(`finishReason"`))
}

// geminiError writes an error as the API does.
func geminiError(status, message string) []byte {
	type detail struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
	}
	codes := map[string]int{
		"UNAVAILABLE": 503, "RESOURCE_EXHAUSTED": 429, "UNAUTHENTICATED": 401,
		"INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "PERMISSION_DENIED": 403,
	}
	body, _ := json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{codes[status], message, status}})
	return body
}
