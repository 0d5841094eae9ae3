package gateway

import (
	"net/http"
	"net/url"
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
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// family is a group of endpoints that one kind of server offers.
type family struct {
	name      string
	url       string                   // of the public API, or where the server listens by default; "": each account has its own
	versioned bool                     // its base URLs end with a version, as .../v1; else the version is part of the paths
	matches   func(*http.Request) bool // reports whether a request is for this API by default
	dialects  string                   // names of the dialects that it answers in
	errors    *api.API                 // of the gateway's own errors when the request has no dialect
	owns      func(path string) bool   // whether a path is this API's only; nil: none is
	keys      []string                 // headers that may hold its credentials; an upstream's own key goes into the first
}

// apis lists the APIs. The one that owns a path takes a request, else the first that matches it.
var apis = []family{
	{"anthropic", "https://api.anthropic.com", false, isAnthropic, "anthropic", anthropic.Messages(), nil, []string{"X-Api-Key", authorization}},
	{"gemini", "https://generativelanguage.googleapis.com", false, isGemini, "gemini gemini-interactions", gemini.API(), nil, []string{googleKey, authorization}},
	{"openai", "https://api.openai.com", true, isOpenAI, compatible, openai.Chat(), nil, []string{authorization, azureKey}},
	{"cohere", "https://api.cohere.com", false, isCohere, "cohere", cohere.API(), nil, []string{authorization}},
	{vertex, "https://" + vertexGlobal, false, isVertex, "anthropic-vertex", gemini.API(), isVertexPath, []string{authorization, googleKey}},
	{azure, "", false, mayBeAzure, compatible, openai.Chat(), isAzurePath, []string{azureKey, authorization}},
	{"ollama", "http://127.0.0.1:11434", false, isOllama, "ollama " + compatible, ollama.API(), nil, []string{authorization}},
	{"lmstudio", "http://127.0.0.1:1234", false, isLMStudio, "lmstudio " + compatible, lmstudio.API(), nil, []string{authorization}},
	{"bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com", false, isBedrock, "bedrock-invoke bedrock-converse", bedrock.Converse(), nil, []string{authorization}},
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

// apiOf returns the API with a name, or nil.
func apiOf(name string) *family {
	i := slices.IndexFunc(apis, func(a family) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &apis[i]
}

// publicURL returns the API's default base URL, or nil if it has no default.
func (a *family) publicURL() *url.URL {
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
func (a *family) answers(d *api.API, path string) bool {
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

// under reports whether a path is root or below it.
func under(p, root string) bool {
	rest, ok := strings.CutPrefix(p, root)
	return ok && (rest == "" || rest[0] == '/')
}

// asksForAnswer reports whether a path is that of a request for an answer.
func asksForAnswer(p string) bool { return registry.Of(http.MethodPost, p) != nil }

// isAnthropic recognises the API by its own paths, and by its own header on those that others have as well,
// such as /v1/models. A request for an answer is matched by its path alone: no key goes to another API.
func isAnthropic(r *http.Request) bool {
	p := r.URL.Path
	return under(p, "/v1/messages") || under(p, "/v1/complete") || under(p, "/api/v1/messages") ||
		under(p, "/v1") && r.Header.Get("Anthropic-Version") != "" && !asksForAnswer(p)
}

// isGemini recognises the API by its versions, by the verb behind a model, and
// by its own credentials on paths that others have as well.
func isGemini(r *http.Request) bool {
	p := r.URL.Path
	if d := registry.Of(http.MethodPost, p); d != nil {
		return d == gemini.API() || d == gemini.Interactions()
	}
	return under(p, "/v1beta") || under(p, "/v1alpha") || under(p, "/upload") ||
		under(p, "/v1") && (strings.Contains(p, ":") || r.Header.Get(googleKey) != "")
}

// isOpenAI takes what is left below /v1, as most clients use this API.
func isOpenAI(r *http.Request) bool { return under(r.URL.Path, "/v1") || isOpenRouter(r.URL.Path) }

// isCohere takes what is below the version that only this API has.
func isCohere(r *http.Request) bool { return under(r.URL.Path, "/v2") }

// isBedrock recognises the paths of Amazon Bedrock's runtime, and those of its lists, which clients ask it for.
func isBedrock(r *http.Request) bool {
	p := r.URL.Path
	return under(p, "/model") || under(p, "/guardrail") || under(p, "/inference-profiles") || under(p, "/foundation-models")
}

// isLMStudio recognises the server's own API.
func isLMStudio(r *http.Request) bool {
	return under(r.URL.Path, "/api/v0") || under(r.URL.Path, "/api/v1") && !isOpenRouter(r.URL.Path)
}

// isOllama takes what is left below /api.
func isOllama(r *http.Request) bool {
	return under(r.URL.Path, "/api") && !under(r.URL.Path, "/api/v0") && !under(r.URL.Path, "/api/v1")
}

// isOpenRouter recognises the path of a request for an answer from OpenRouter's SDK with another host: OpenRouter has the
// APIs of others below /api. LM Studio has one of its own there.
func isOpenRouter(p string) bool {
	if !under(p, openRouter) {
		return false
	}
	d := registry.Of(http.MethodPost, p)
	return d != nil && d != lmstudio.API()
}

// openRouter is where OpenRouter has the APIs of others.
const openRouter = "/api/v1"

// isVertex takes the paths that only this API has.
func isVertex(r *http.Request) bool { return isVertexPath(r.URL.Path) }

// isVertexPath reports whether a path is one of Vertex AI: that of a project, or of a publisher's model for a
// client with an API key. ANTHROPIC_VERTEX_BASE_URL may leave the version out.
func isVertexPath(p string) bool {
	for _, version := range []string{"/v1", "/v1beta1"} {
		if rest, ok := strings.CutPrefix(p, version); ok && under(rest, "/publishers") {
			return true
		} else if ok && under(rest, "/projects") {
			p = rest
		}
	}
	return under(p, "/projects")
}

// isAzurePath reports whether only Azure has a path.
func isAzurePath(p string) bool { return under(p, "/openai/deployments") }

// mayBeAzure takes what no upstream named openai has taken.
func mayBeAzure(r *http.Request) bool { return under(r.URL.Path, "/openai") }

// isAzure recognises a request to Azure by its path, its version or its header for the key.
func isAzure(r *http.Request) bool {
	p := r.URL.Path
	return isAzurePath(p) || under(p, "/openai") && (r.Header.Get(azureKey) != "" || r.URL.Query().Has("api-version"))
}

// takesAzure reports whether an upstream is taken by its name openai for a request that is Azure's: it is not,
// as Azure's key is no other's. An upstream at Azure is, whatever its API.
func (s *setup) takesAzure(up *upstream, r *http.Request) bool {
	switch {
	case up.API == azure || strings.HasSuffix(up.baseURL.Hostname(), ".azure.com"), !isAzure(r):
		return true
	case isAzurePath(r.URL.Path):
		return false
	}
	return s.defaultFor(apiOf(azure)) == nil
}

// baseEnds returns what a base URL may end with that the paths have as well.
func (a *family) baseEnds() []string {
	if a.name == azure {
		return []string{"/openai/v1", "/openai"}
	}
	return []string{"/v1beta1", "/v1beta", "/v1", "/v2"}
}

// azureEndpoint returns the path of a request at Azure, whose paths all begin with /openai. Clients of OpenAI's
// API leave that out.
func azureEndpoint(to endpoint) endpoint {
	if under(to.path, "/openai") {
		return to
	}
	return endpoint{"/openai" + to.path, "/openai" + to.escaped}
}

// vertexEndpoint returns the path of a request at Vertex AI, with a version.
func vertexEndpoint(to endpoint) endpoint {
	if under(to.path, "/projects") || under(to.path, "/publishers") {
		return endpoint{"/v1" + to.path, "/v1" + to.escaped}
	}
	return to
}

// vertexGlobal is the host of Vertex AI for the location global. Each other location has its own.
const vertexGlobal = "aiplatform.googleapis.com"

// vertexHost returns the host for the location in a path, for an upstream without a host of its own.
func vertexHost(base *url.URL, path string) string {
	_, rest, found := strings.Cut(path, "/locations/")
	location, _, _ := strings.Cut(rest, "/")
	switch {
	case base.Host != vertexGlobal || !found || location == "" || strings.Trim(location, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return base.Host
	case location == "global":
		return vertexGlobal
	case location == "us" || location == "eu":
		return "aiplatform." + location + ".rep.googleapis.com"
	}
	return location + "-" + vertexGlobal
}
