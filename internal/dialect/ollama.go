package dialect

import (
	"bytes"
	"encoding/json"
)

// Ollama gives Ollama's own API (docs: "API", its api.md). What it streams are
// lines of JSON, and it streams unless it is told not to.
func Ollama() *Dialect { return &ollama }

var ollama = Dialect{
	name:             "ollama",
	isRequest:        hasPathSuffix("/api/chat", "/api/generate"),
	streamForm:       Lines,
	streamsByDefault: true,
	frameKind:        ollamaFrameKind,
	isPlainContent:   isOllamaPlainContent,
	ping:             pingComment,
	errors:           errorFormat{body: ollamaError},
}

// ollamaFrameKind reads one line. The line that is done is an answer even if it is
// the first: a model was loaded, or had nothing to say.
func ollamaFrameKind(_, data []byte) FrameKind {
	sign := Opening
	for key, value := range members(data) {
		switch string(key) {
		case "error":
			if !isEmpty(value) {
				return Failure
			}
		case "done":
			if string(value) == "true" {
				sign = Last
			}
		case "message":
			if deltaHasContent(value) {
				sign = max(sign, Content)
			}
		case "model", "created_at", "remote_model", "remote_host", "completed", "total":
		default:
			if !isEmpty(value) {
				sign = max(sign, Content)
			}
		}
	}
	return sign
}

// isOllamaPlainContent knows a line by how it begins and ends.
func isOllamaPlainContent(frame []byte) bool {
	return bytes.HasPrefix(frame, []byte(`{"model":`)) && bytes.HasSuffix(frame, []byte(`,"done":false}`+"\n"))
}

// ollamaContinues tells whether bytes begin with a line of Ollama's that is not the last.
func ollamaContinues(begin []byte) bool {
	line, _, ok := bytes.Cut(begin, []byte("\n"))
	return ok && string(member(line, "done")) == "false"
}

// ollamaError writes an error as the API does.
func ollamaError(_, words string) []byte {
	body, _ := json.Marshal(struct {
		Error string `json:"error"`
	}{words})
	return body
}
