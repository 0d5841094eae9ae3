package dialect

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Gemini gives Google's API, in any of its versions, of Vertex AI and of Code
// Assist, which puts the same answer into a member "response".
func Gemini() *Dialect { return &gemini }

var gemini = Dialect{
	name:           "gemini",
	isRequest:      isGeminiRequest,
	streamForm:     Events,
	formFromURL:    geminiRequestForm,
	frameKind:      geminiFrameKind,
	isPlainContent: isGeminiPlainContent,
	ping:           func(string) string { return "\n\n" }, // a comment breaks the clients
	abortsOnError:  true,                                  // they take an error inside a stream for a chunk without text
	errors: errorFormat{
		body: geminiError,
		event: func(status, words string) string { // Google ends its lines so; a Go client that sees both kinds at once reads two events as one
			return "data: " + string(geminiError(status, words)) + "\r\n\r\n"
		},
		other: "UNAVAILABLE",
		types: map[fault.Kind]string{
			fault.Quota:   "RESOURCE_EXHAUSTED",
			fault.Auth:    "UNAUTHENTICATED",
			fault.Invalid: "INVALID_ARGUMENT",
			fault.Refused: "PERMISSION_DENIED",
			fault.TooLong: "INVALID_ARGUMENT",
		},
	},
}

// The verbs that ask for an answer.
const (
	generate       = "generateContent"
	streamGenerate = "streamGenerateContent"
)

// geminiVerb gives the model and the verb in a path such as
// /v1beta/models/M:generateContent; a path that names no model gives none.
func geminiVerb(path string) (model, verb string) {
	i := strings.LastIndexByte(path, ':')
	if i < 0 {
		return "", ""
	}
	path, verb = path[:i], path[i+1:]
	i = strings.LastIndexByte(path, '/')
	if kind := path[:max(i, 0)]; !strings.HasSuffix(kind, "/models") && !strings.HasSuffix(kind, "/tunedModels") {
		return "", verb
	}
	return path[i+1:], verb
}

func isGeminiRequest(path string) bool {
	_, verb := geminiVerb(path)
	return verb == generate || verb == streamGenerate
}

// geminiRequestForm prefers the model in the path; Code Assist has it in the body.
func geminiRequestForm(u *url.URL, model *string) Form {
	if m, _ := geminiVerb(u.Path); m != "" {
		*model = m
	}
	return geminiForm(u)
}

// geminiForm gives the form that a request chooses.
func geminiForm(u *url.URL) Form {
	switch _, verb := geminiVerb(u.Path); {
	case verb != streamGenerate:
		return JSON
	case u.Query().Get("alt") == "sse":
		return Events
	}
	return Array
}

// geminiFrameKind reads one chunk. One without candidates is an answer too if it says
// anything: why the prompt was blocked, or what it has cost.
func geminiFrameKind(name, data []byte) FrameKind {
	switch {
	case len(data) == 0:
		return Opening
	case data[0] != '{':
		return Content
	}
	sign, bare, candidates := Opening, Opening, false
	for key, value := range members(data) {
		switch {
		case isErrorMember(key, value):
			return Failure
		case string(key) == "response":
			return geminiFrameKind(name, value)
		case string(key) == "candidates" && !isEmpty(value):
			candidates = true
			for candidate := range elements(value) {
				sign = max(sign, candidateKind(candidate))
			}
		case string(key) == "candidates", string(key) == "promptFeedback", string(key) == "usageMetadata":
			bare = Finish
		}
	}
	if !candidates {
		return bare
	}
	return sign
}

// candidateKind reads one candidate: parts that say something are content, a
// finishReason completes it.
func candidateKind(candidate []byte) FrameKind {
	sign := Opening
	for key, value := range members(candidate) {
		switch string(key) {
		case "finishReason":
			if !isEmpty(value) && string(value) != `"FINISH_REASON_UNSPECIFIED"` {
				return Finish
			}
		case "content":
			for part := range elements(member(value, "parts")) {
				sign = max(sign, geminiPartKind(part))
			}
		}
	}
	return sign
}

// geminiPartKind tells whether a part shows anything besides that it is a thought.
func geminiPartKind(part []byte) FrameKind {
	for key, value := range members(part) {
		if string(key) != "thought" && !isEmpty(value) {
			return Content
		}
	}
	return Opening
}

// isGeminiPlainContent knows a chunk that begins with a candidate, as no error does, and
// says of none why it is finished. Inside of a text that word has a backslash
// before its quote.
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
func geminiError(status, words string) []byte {
	type detail struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
	}
	codes := map[string]int{
		"UNAVAILABLE": 503, "RESOURCE_EXHAUSTED": 429, "UNAUTHENTICATED": 401,
		"INVALID_ARGUMENT": 400, "PERMISSION_DENIED": 403,
	}
	body, _ := json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{codes[status], words, status}})
	return body
}
