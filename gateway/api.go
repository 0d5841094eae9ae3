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
	url       string                   // of the public API, or where the server listens by default
	versioned bool                     // its base URLs end with a version, as .../v1; else the version is part of the paths
	matches   func(*http.Request) bool // reports whether a request is for this API by default
	dialects  string                   // names of the dialects that it answers in
	errors    *dialect.Dialect         // of the gateway's own errors when the request has no dialect
	keys      []string                 // headers that may hold its credentials; an upstream's own key goes into the first
}

// apis lists the APIs; the first that matches a request takes it.
var apis = []api{
	{"anthropic", "https://api.anthropic.com", false, isAnthropic, "anthropic", dialect.Anthropic(), []string{"X-Api-Key", authorization}},
	{"gemini", "https://generativelanguage.googleapis.com", false, isGemini, "gemini", dialect.Gemini(), []string{googleKey, authorization}},
	{"openai", "https://api.openai.com", true, isOpenAI, compatible, dialect.OpenAIChat(), []string{authorization, "Api-Key"}},
	{"ollama", "http://127.0.0.1:11434", false, isOllama, "ollama " + compatible, dialect.Ollama(), []string{authorization}},
	{"lmstudio", "http://127.0.0.1:1234", false, isLMStudio, "lmstudio " + compatible, dialect.LMStudio(), []string{authorization}},
	{"bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com", false, isBedrock, "bedrock-invoke bedrock-converse", dialect.BedrockConverse(), []string{authorization}},
}

// compatible are the dialects of OpenAI's API, which many servers offer.
const compatible = "openai-chat openai-completions openai-responses"

const (
	authorization = "Authorization"
	bearer        = "Bearer "
	googleKey     = "X-Goog-Api-Key"
	googleParam   = "key" // of the query
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

// publicURL returns the API's default base URL.
func (a *api) publicURL() *url.URL {
	u, _ := url.Parse(a.url) // a constant
	return u
}

// answers reports whether the API answers in a dialect.
func (a *api) answers(d *dialect.Dialect) bool {
	return slices.Contains(strings.Fields(a.dialects), d.Name())
}

// shareDialect reports whether two APIs have a dialect in common.
func shareDialect(a, b string) bool {
	x, y := apiOf(a), apiOf(b)
	return x == nil || y == nil || slices.ContainsFunc(strings.Fields(x.dialects), func(d string) bool {
		return slices.Contains(strings.Fields(y.dialects), d)
	})
}

// isAnthropic recognises the API by its own paths, and by its own header on those that others have as well,
// such as /v1/models. A request for an answer is matched by its path alone: no key goes to another API.
func isAnthropic(r *http.Request) bool {
	p := r.URL.Path
	return under(p, "/v1/messages") || under(p, "/v1/complete") ||
		under(p, "/v1") && r.Header.Get("Anthropic-Version") != "" && !asksForAnswer(p)
}

// isGemini recognises the API by its versions, by the verb behind a model, and
// by its own credentials on paths that others have as well.
func isGemini(r *http.Request) bool {
	p := r.URL.Path
	if d := dialect.Of(http.MethodPost, p); d != nil {
		return d == dialect.Gemini()
	}
	return under(p, "/v1beta") || under(p, "/v1alpha") || under(p, "/upload") ||
		under(p, "/v1") && (strings.Contains(p, ":") || r.Header.Get(googleKey) != "")
}

// isOpenAI takes what is left below /v1, as most clients use this API.
func isOpenAI(r *http.Request) bool { return under(r.URL.Path, "/v1") }

// isLMStudio recognises the server's own API.
func isLMStudio(r *http.Request) bool {
	return under(r.URL.Path, "/api/v0") || under(r.URL.Path, "/api/v1")
}

// isOllama takes what is left below /api.
func isOllama(r *http.Request) bool {
	return under(r.URL.Path, "/api") && !isLMStudio(r)
}

// isBedrock recognises the paths of Amazon Bedrock's runtime, and those of its lists, which clients ask it for.
func isBedrock(r *http.Request) bool {
	p := r.URL.Path
	return under(p, "/model") || under(p, "/guardrail") || under(p, "/inference-profiles") || under(p, "/foundation-models")
}

// under reports whether a path is root or below it.
func under(p, root string) bool {
	rest, ok := strings.CutPrefix(p, root)
	return ok && (rest == "" || rest[0] == '/')
}

// asksForAnswer reports whether a path is that of a request for an answer.
func asksForAnswer(p string) bool { return dialect.Of(http.MethodPost, p) != nil }
