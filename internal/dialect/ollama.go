package dialect

import (
	"bytes"
	"encoding/json"
)

// Ollama returns Ollama's own API (its docs/api.md). Its streams are lines of JSON, and it streams unless
// the request forbids it.
func Ollama() *Dialect { return &ollama }

var ollama = Dialect{
	name:             "ollama",
	isRequest:        hasPathSuffix("/api/chat", "/api/generate"),
	streamForm:       Lines,
	streamsByDefault: true,
	frameKind:        ollamaFrameKind,
	output:           ollamaOutput,
	isPlainContent:   isOllamaPlainContent,
	prelude:          &ollamaPrelude,
	ping:             pingComment,
	comment:          pingComment,
	errors:           errorFormat{body: ollamaError},
}

// ollamaFrameKind reads one line. The line that is done is an answer even if it is the first: a model was
// loaded, or had no output.
func ollamaFrameKind(_, data []byte) FrameKind {
	kind := Opening
	for key, value := range members(data) {
		switch string(key) {
		case "error":
			if !isEmpty(value) {
				return Failure
			}
		case "done":
			if string(value) == "true" {
				kind = Last
			}
		case "message":
			if deltaHasContent(value) {
				kind = max(kind, Content)
			}
		case "model", "created_at", "remote_model", "remote_host", "completed", "total":
		default:
			if !isEmpty(value) {
				kind = max(kind, Content)
			}
		}
	}
	return kind
}

// isOllamaPlainContent recognizes a line by how it begins and ends.
func isOllamaPlainContent(frame []byte) bool {
	return bytes.HasPrefix(frame, []byte(`{"model":`)) && bytes.HasSuffix(frame, []byte(`,"done":false}`+"\n"))
}

// ollamaContinues reports whether bytes begin with a line of Ollama's that is not the last.
func ollamaContinues(begin []byte) bool {
	line, _, ok := bytes.Cut(begin, []byte("\n"))
	return ok && string(member(line, "done")) == "false"
}

// ollamaError writes an error as the API does.
func ollamaError(_, message string) []byte {
	body, _ := json.Marshal(struct {
		Error string `json:"error"`
	}{message})
	return body
}
