package gateway

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/fault"
)

// viaHeader marks a request with the gateways that it has passed.
const viaHeader = "X-Ridethrough-Via"

// vendor is an API that the gateway knows.
type vendor struct {
	name      string
	host      string                   // of the public API
	versioned bool                     // its base URLs end with a version, as .../v1; else that is part of the paths
	speaks    func(*http.Request) bool // tells whether a request is for this API
	dialect   *dialect.Dialect         // for errors of our own where nothing else tells
}

// vendors lists the APIs; the first that speaks a request takes it.
var vendors = []vendor{
	{"anthropic", "api.anthropic.com", false, speaksAnthropic, dialect.Anthropic()},
	{"openai", "api.openai.com", true, speaksOpenAI, dialect.OpenAIChat()},
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
func (v *vendor) public() *url.URL { return &url.URL{Scheme: "https", Host: v.host} }

// vendorOf finds the API that a request speaks; nil: none. A path with dots in
// it may lead anywhere, and no client sends one.
func vendorOf(r *http.Request) *vendor {
	if path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") {
		return nil
	}
	for i := range vendors {
		if vendors[i].speaks(r) {
			return &vendors[i]
		}
	}
	return nil
}

// speaksAnthropic knows the API by its own paths, and by its own header on those
// that others have as well, such as /v1/models. A request for an answer is its
// path's: no key goes to another vendor.
func speaksAnthropic(r *http.Request) bool {
	p := r.URL.Path
	return under(p, "/v1/messages") || under(p, "/v1/complete") ||
		under(p, "/v1") && r.Header.Get("Anthropic-Version") != "" && dialect.Of(http.MethodPost, p) == nil
}

// speaksOpenAI takes what is left below /v1, as most of the world's clients
// speak it.
func speaksOpenAI(r *http.Request) bool { return under(r.URL.Path, "/v1") }

// under tells whether a path is root or below it.
func under(p, root string) bool {
	rest, ok := strings.CutPrefix(p, root)
	return ok && (rest == "" || rest[0] == '/')
}

// target gives the upstream's URL for a request. Base URLs are what the
// vendor's clients take for one: OpenAI's end with the version, whatever it is
// called there, Anthropic's come before it. /v1 is never doubled.
func (u upstream) target(r *http.Request) *url.URL {
	root, escaped := strings.TrimRight(u.base.Path, "/"), strings.TrimRight(u.base.EscapedPath(), "/")
	rest, escapedRest := r.URL.Path, r.URL.EscapedPath()
	switch {
	case u.vendor.versioned && root != "":
		rest, escapedRest = strings.TrimPrefix(rest, "/v1"), strings.TrimPrefix(escapedRest, "/v1")
	case !u.vendor.versioned:
		root, escaped = strings.TrimSuffix(root, "/v1"), strings.TrimSuffix(escaped, "/v1")
	}
	to := *u.base
	to.Path, to.RawPath = root+rest, escaped+escapedRest
	to.RawQuery = r.URL.RawQuery
	return &to
}

// passThrough makes the proxy for an upstream's other endpoints.
func (g *Gateway) passThrough(up upstream) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     g.config.Base,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // an answer that breaks off is the client's to see
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = up.target(p.In), ""
			p.Out.Header.Add(viaHeader, g.id)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // the client has left
			}
			f := g.config.Faults.Of(err, time.Now())
			reply(w, http.StatusBadGateway, up.vendor.dialect.ErrorBody(f, "ridethrough: "+up.unreachable(f)))
		},
	}
}

// unreachable says that an upstream gave no answer, and what to do about it.
func (u upstream) unreachable(f *fault.Error) string {
	return fmt.Sprintf("no answer from %s at %s: %v (is the address right? see --upstream)", u.vendor.name, u.base.Redacted(), f)
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
		"ridethrough: "+r.Method+" "+r.URL.Path+" belongs to no API that it knows; there are /v1/messages, /v1/chat/completions and what else is below /v1"))
}
