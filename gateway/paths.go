package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// under reports whether a path is root or below it.
func under(p, root string) bool {
	rest, ok := strings.CutPrefix(p, root)
	return ok && (rest == "" || rest[0] == '/')
}

// asksForAnswer reports whether a path is that of a request for an answer.
func asksForAnswer(p string) bool { return dialect.Of(http.MethodPost, p) != nil }

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

// isCohere takes what is below the version that only this API has.
func isCohere(r *http.Request) bool { return under(r.URL.Path, "/v2") }

// isBedrock recognises the paths of Amazon Bedrock's runtime, and those of its lists, which clients ask it for.
func isBedrock(r *http.Request) bool {
	p := r.URL.Path
	return under(p, "/model") || under(p, "/guardrail") || under(p, "/inference-profiles") || under(p, "/foundation-models")
}

// isLMStudio recognises the server's own API.
func isLMStudio(r *http.Request) bool {
	return under(r.URL.Path, "/api/v0") || under(r.URL.Path, "/api/v1")
}

// isOllama takes what is left below /api.
func isOllama(r *http.Request) bool {
	return under(r.URL.Path, "/api") && !isLMStudio(r)
}

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
func (a *api) baseEnds() []string {
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
