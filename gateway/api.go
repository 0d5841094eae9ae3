package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// api is a family of endpoints that one kind of server offers.
type api struct {
	name      string
	url       string                   // of the public API, or where the server listens by default; "": each account has its own
	versioned bool                     // its base URLs end with a version, as .../v1; else the version is part of the paths
	matches   func(*http.Request) bool // reports whether a request is for this API by default
	dialects  string                   // names of the dialects that it answers in
	errors    *dialect.Dialect         // of the gateway's own errors when the request has no dialect
	owns      func(path string) bool   // whether a path is this API's only; nil: none is
	keys      []string                 // headers that may hold its credentials; an upstream's own key goes into the first
}

// apis lists the APIs. The one that owns a path takes a request, else the first that matches it.
var apis = []api{
	{"anthropic", "https://api.anthropic.com", false, isAnthropic, "anthropic", dialect.Anthropic(), nil, []string{"X-Api-Key", authorization}},
	{"gemini", "https://generativelanguage.googleapis.com", false, isGemini, "gemini", dialect.Gemini(), nil, []string{googleKey, authorization}},
	{"openai", "https://api.openai.com", true, isOpenAI, compatible, dialect.OpenAIChat(), nil, []string{authorization, azureKey}},
	{"cohere", "https://api.cohere.com", false, isCohere, "cohere", dialect.Cohere(), nil, []string{authorization}},
	{vertex, "https://" + vertexGlobal, false, isVertex, "anthropic-vertex", dialect.Gemini(), isVertexPath, []string{authorization, googleKey}},
	{azure, "", false, mayBeAzure, compatible, dialect.OpenAIChat(), isAzurePath, []string{azureKey, authorization}},
	{"ollama", "http://127.0.0.1:11434", false, isOllama, "ollama " + compatible, dialect.Ollama(), nil, []string{authorization}},
	{"lmstudio", "http://127.0.0.1:1234", false, isLMStudio, "lmstudio " + compatible, dialect.LMStudio(), nil, []string{authorization}},
	{"bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com", false, isBedrock, "bedrock-invoke bedrock-converse", dialect.BedrockConverse(), nil, []string{authorization}},
}

// compatible are the dialects of OpenAI's API, which many servers offer.
const compatible = "openai-chat openai-completions openai-responses"

const (
	authorization = "Authorization"
	bearer        = "Bearer "
	googleKey     = "X-Goog-Api-Key"
	googleParam   = "key" // of the query
	azure         = "azure"
	vertex        = "vertex"
	azureKey      = "Api-Key"
)

// APIs returns the names of the APIs that upstreams may have.
func APIs() []string {
	names := make([]string, len(apis))
	for i := range apis {
		names[i] = apis[i].name
	}
	return names
}

// apiOf returns the API of a name; nil: there is none.
func apiOf(name string) *api {
	i := slices.IndexFunc(apis, func(a api) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &apis[i]
}

// publicURL returns the API's default base URL; nil: it has none.
func (a *api) publicURL() *url.URL {
	if a.url == "" {
		return nil
	}
	u, _ := url.Parse(a.url) // a constant
	return u
}

// ownerOf returns the index of the API that owns a path; negative: none does.
func ownerOf(path string) int {
	for i := range apis {
		if owns := apis[i].owns; owns != nil && owns(path) {
			return i
		}
	}
	return -1
}

// apiFor returns the index of the API that takes a request; negative: none does.
func apiFor(r *http.Request) int {
	if i := ownerOf(r.URL.Path); i >= 0 {
		return i
	}
	for i := range apis {
		if apis[i].matches(r) {
			return i
		}
	}
	return -1
}

// answers reports whether the API answers a request in a dialect for a path.
func (a *api) answers(d *dialect.Dialect, path string) bool {
	if i := ownerOf(path); i >= 0 {
		return a == &apis[i]
	}
	return slices.Contains(strings.Fields(a.dialects), d.Name())
}

// shareDialect reports whether two APIs have a dialect in common.
func shareDialect(a, b string) bool {
	x, y := apiOf(a), apiOf(b)
	return x == nil || y == nil || slices.ContainsFunc(strings.Fields(x.dialects), func(d string) bool {
		return slices.Contains(strings.Fields(y.dialects), d)
	})
}
