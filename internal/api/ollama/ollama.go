// Package ollama is Ollama's own API (its docs/api.md). Its streams are lines of JSON, and it streams unless the request
// forbids it.
package ollama

import (
	"bytes"
	_ "embed"

	"github.com/ridethrough/ridethrough/internal/api"
)

// API returns Ollama's own API (its docs/api.md). Its streams are lines of JSON, and it streams unless
// the request forbids it.
func API() *api.API { return chat }

//go:embed encode.txt
var forms string

var chat = api.New(api.Definition{
	Name:      "ollama",
	IsRequest: api.HasPathSuffix("/api/chat", "/api/generate"),
	Beside: []string{
		"/api/show/", "/api/tags/", "/api/ps/", "/api/version/", "/api/embed/", "/api/embeddings/", "/api/chat/",
		"/api/generate/", "/api/pull/", "/api/push/", "/api/create/", "/api/copy/", "/api/delete/", "/api/blobs/",
		"/api/me/", "/api/signout/",
	},
	StreamForm:       api.Lines,
	StreamsByDefault: true,
	Bounds:           map[string]func(*api.Bounds, []byte){"options": noteContext},
	Note:             note,
	Decode:           decode,
	Forms:            []string{forms},
	IsPlainContent:   isPlainContent,
	Prelude:          &prelude,
	Continuation:     func() api.Continuation { return new(continuation) },
	Prefills:         true,
	BeginsLines:      continues,
	Ping:             api.PingComment,
	Errors:           api.ErrorFormat{Body: api.ErrorBody(forms, nil)},
})

// noteContext notes the size of the context that a request's options ask for.
func noteContext(b *api.Bounds, options []byte) {
	b.Context = api.Number(api.Member(options, "num_ctx"))
}

// leastDefault is the least context that Ollama has by default.
const leastDefault = 2048

// note finds an answer without an end, and a prompt that was cut. Ollama left out the end where a word repeats more than
// 30 times, until it made that an error (ollama/ollama#18374). Of a prompt that it cuts it counts as many tokens as the
// context has: what was asked for, or a power of two, as are its defaults and the contexts of models. A prompt that just
// fits has as many too, so the request must have the size of 1.3 times as many, at four bytes each.
func note(b api.Bounds, e api.Ending) api.Note {
	n := e.Usage.Input
	full := n == b.Context || n >= leastDefault && n&(n-1) == 0
	switch {
	case !e.Stopped:
		return api.NoEnd
	case full && n > 0 && b.Size >= n*52/10:
		return api.PromptCut
	}
	return ""
}

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
