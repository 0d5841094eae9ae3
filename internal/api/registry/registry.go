// Package registry lists the folders of all APIs, each of which imports package api. It is the one place that a new
// folder is added to.
package registry

import (
	"net/http"
	"slices"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/bedrock"
	"github.com/ridethrough/ridethrough/internal/api/cohere"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// all are the APIs in the order in which Of and ErrorsOf try them.
var all = [...]*api.API{
	anthropic.Messages(), gemini.API(), openai.Chat(), openai.Completions(), openai.Responses(), gemini.Interactions(),
	anthropic.Vertex(), cohere.API(), lmstudio.API(), ollama.API(), bedrock.Invoke(), bedrock.Converse(),
}

// All returns every API.
func All() []*api.API { return slices.Clone(all[:]) }

// Of returns the API in whose form a request asks for an answer; nil: it asks for something else. Only the end of the
// path counts, because relays put their own prefix before it.
func Of(method, path string) *api.API {
	if method != http.MethodPost {
		return nil
	}
	for _, a := range all {
		if a.IsRequest(path) {
			return a
		}
	}
	return nil
}

// ErrorsOf returns the API in whose form the client of a request reads errors, whatever it asks for; nil: neither the path
// nor a header says, as at /v1/models.
func ErrorsOf(path string, h http.Header) *api.API {
	if a := Of(http.MethodPost, path); a != nil {
		return a
	}
	for _, a := range all {
		if a.IsBeside(path) {
			return a
		}
	}
	switch {
	case h.Get("Anthropic-Version") != "":
		return anthropic.Messages()
	case h.Get("X-Goog-Api-Key") != "":
		return gemini.API()
	}
	return nil
}
