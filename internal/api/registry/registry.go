// Package registry lists the folders of all APIs, each of which imports package api. It is the one place that a new
// folder is added to.
package registry

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/bedrock"
	"github.com/ridethrough/ridethrough/internal/api/cohere"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// all are the APIs in the order in which Of tries them.
var all = [...]*api.API{
	anthropic.Messages(), openai.Chat(), openai.Completions(), openai.Responses(), gemini.API(), gemini.Interactions(), anthropic.Vertex(), cohere.API(),
	lmstudio.API(), ollama.API(), bedrock.Invoke(), bedrock.Converse(),
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

// others are parts of paths at which an API answers something else than a model's words. A slash follows a path.
var others = [...]struct {
	part string
	of   *api.API
}{
	{"/v1/messages/", anthropic.Messages()},
	{"/v1/complete/", anthropic.Messages()},
	{":countTokens/", gemini.API()},
	{":embedContent/", gemini.API()},
	{":batchEmbedContents/", gemini.API()},
	{"/v1beta/", gemini.API()},
	{"/v1/chat/completions/", openai.Chat()},
	{"/v1/completions/", openai.Chat()},
	{"/v1/responses/", openai.Responses()},
	{"/v1/embeddings/", openai.Chat()},
	{"/v2/", cohere.API()},
	{"/api/v1/models/load/", lmstudio.API()},
	{"/api/v1/models/unload/", lmstudio.API()},
	{"/api/v1/models/download/", lmstudio.API()},
	{"/api/show/", ollama.API()},
	{"/api/tags/", ollama.API()},
	{"/api/ps/", ollama.API()},
	{"/api/version/", ollama.API()},
	{"/api/embed/", ollama.API()},
	{"/api/embeddings/", ollama.API()},
	{"/api/chat/", ollama.API()},
	{"/api/generate/", ollama.API()},
	{"/api/pull/", ollama.API()},
	{"/api/push/", ollama.API()},
	{"/api/create/", ollama.API()},
	{"/api/copy/", ollama.API()},
	{"/api/delete/", ollama.API()},
	{"/api/blobs/", ollama.API()},
	{"/api/me/", ollama.API()},
	{"/api/signout/", ollama.API()},
}

// ErrorsOf returns the API in whose form the client of a request reads errors, whatever it asks for; nil: neither the path
// nor a header says, as at /v1/models.
func ErrorsOf(path string, h http.Header) *api.API {
	if a := Of(http.MethodPost, path); a != nil {
		return a
	}
	for _, o := range others {
		if strings.Contains(path+"/", o.part) {
			return o.of
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
