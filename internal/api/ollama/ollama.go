// Package ollama is Ollama's own API (its docs/api.md). Its streams are lines of JSON, and it streams unless the request
// forbids it.
package ollama

import (
	"bytes"

	"github.com/ridethrough/ridethrough/internal/api"
)

// API returns Ollama's own API (its docs/api.md). Its streams are lines of JSON, and it streams unless
// the request forbids it.
func API() *api.API { return chat }

var chat = api.New(api.Definition{
	Name:             "ollama",
	IsRequest:        api.HasPathSuffix("/api/chat", "/api/generate"),
	StreamForm:       api.Lines,
	StreamsByDefault: true,
	Decode:           decode,
	Forms:            []string{forms},
	IsPlainContent:   isPlainContent,
	Prelude:          &prelude,
	Continuation:     func() api.Continuation { return new(continuation) },
	Prefills:         true,
	BeginsLines:      continues,
	Ping:             api.PingComment,
	Comment:          api.PingComment,
	Errors:           api.ErrorFormat{Body: api.ErrorBody(forms, nil)},
})

// isPlainContent recognizes a line by how it begins and ends.
func isPlainContent(frame []byte) bool {
	return bytes.HasPrefix(frame, []byte(`{"model":`)) && bytes.HasSuffix(frame, []byte(`,"done":false}`+"\n"))
}

// continues reports whether bytes begin with a line of Ollama's that is not the last.
func continues(begin []byte) bool {
	line, _, ok := bytes.Cut(begin, []byte("\n"))
	return ok && string(api.Member(line, "done")) == "false"
}

var prelude = api.PreludeRules{OnceReasoned: true, Edit: withoutReasoning}

// withoutReasoning returns a line without the second reasoning.
func withoutReasoning(_ *api.Position, _, data []byte) []byte {
	return api.WithoutMembers(api.Edited(data, func(key, value []byte) []byte {
		if string(key) == "thinking" {
			return nil
		}
		return value
	}), "message", "thinking")
}
