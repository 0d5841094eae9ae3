package gateway

import (
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/fault"
)

// vendor is an API that the gateway knows.
type vendor struct {
	name    string
	scheme  string
	host    string
	speaks  func(*http.Request) bool // tells whether a request is for this API
	dialect *dialect.Dialect         // for errors of our own where nothing else tells
}

// vendors lists the APIs; the first that speaks a request takes it.
var vendors = []vendor{
	{"anthropic", "https", "api.anthropic.com", speaksAnthropic, dialect.Anthropic()},
	{"openai", "https", "api.openai.com", speaksOpenAI, dialect.OpenAIChat()},
}

// Names lists the upstreams' names.
func Names() []string {
	names := make([]string, len(vendors))
	for i, v := range vendors {
		names[i] = v.name
	}
	return names
}

// public gives the vendor's public base URL.
func (v vendor) public() *url.URL { return &url.URL{Scheme: v.scheme, Host: v.host} }

// vendorOf finds the API that a request speaks; nil: none.
func vendorOf(r *http.Request) *vendor {
	for i := range vendors {
		if vendors[i].speaks(r) {
			return &vendors[i]
		}
	}
	return nil
}

// speaksAnthropic knows the API by its own paths, and on those that others have
// as well (/v1/models) by its own headers.
func speaksAnthropic(r *http.Request) bool {
	return under(r.URL.Path, "/v1/messages") || under(r.URL.Path, "/v1/complete") ||
		under(r.URL.Path, "/v1") && (r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != "")
}

// speaksOpenAI takes what is left below /v1, as most of the world's clients
// speak it.
func speaksOpenAI(r *http.Request) bool { return under(r.URL.Path, "/v1") }

// under tells whether path is root or below it.
func under(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == '/')
}

// target gives the upstream's URL for a request. A base URL may end in /v1, as
// OpenAI's clients write it, or not, as Anthropic's do: it is never doubled.
func target(base *url.URL, r *http.Request) *url.URL {
	root, escaped := strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.EscapedPath(), "/")
	if strings.HasSuffix(root, "/v1") && under(r.URL.Path, "/v1") {
		root, escaped = strings.TrimSuffix(root, "/v1"), strings.TrimSuffix(escaped, "/v1")
	}
	u := *base
	u.Path, u.RawPath = root+r.URL.Path, escaped+r.URL.EscapedPath()
	u.RawQuery = r.URL.RawQuery
	return &u
}

// passThrough makes the proxy for a vendor's other endpoints.
func (g *Gateway) passThrough(v vendor, base *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     g.config.Base,
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = target(base, p.In), ""
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // the client has left
			}
			f := g.config.Faults.Of(err, time.Now())
			reply(w, http.StatusBadGateway, v.dialect.ErrorBody(f, unreachable(v.name, base, f)))
		},
	}
}

// unreachable says that an upstream gave no answer, and what to do about it.
func unreachable(name string, base *url.URL, f *fault.Error) string {
	return "ridethrough: no answer from " + name + " at " + base.Redacted() + ": " + f.Error() +
		" (is the upstream right? see --upstream)"
}

// reply writes a JSON body of ours.
func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left misses it
}

// welcome answers what belongs to no API: clients that look whether somebody
// is there, and people who open the address in a browser.
func welcome(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ridethrough is here. Set this address as the base URL of your client; see the README.\n")
		return
	}
	f := &fault.Error{Kind: fault.Invalid}
	reply(w, http.StatusNotFound, dialect.OpenAIChat().ErrorBody(f,
		"ridethrough: no API that it knows has "+r.Method+" "+r.URL.Path+"; it serves /v1/messages, /v1/chat/completions and what belongs to them"))
}
