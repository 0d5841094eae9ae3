package gateway

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/http1"
)

// setup is a configuration, made ready.
type setup struct {
	upstreams []*upstream
	defaults  []*upstream // the one that takes each API's requests, in the order of apis; nil: none
	faults    classify.Classifier
	onEvent   func(Event)
}

// upstream is one provider, ready to be asked.
type upstream struct {
	Upstream
	api         *api
	baseURL     url.URL // the base URL
	prefix      string  // of the base URL's path, without a version that the requests' paths have
	escaped     string  // the same, escaped
	breaker     *breaker.Breaker
	connections http.RoundTripper      // its connections
	transport   http.RoundTripper      // the same, with what stands before them
	proxy       *httputil.ReverseProxy // for what asks for no answer
}

// build makes a configuration ready. What the setup before it knows about
// outages goes on where an upstream has stayed what it was.
func (g *Gateway) build(c Config, before *setup) *setup {
	if len(c.Upstreams) == 0 {
		c.Upstreams = Defaults()
	}
	s := &setup{faults: c.Faults, onEvent: c.OnEvent}
	for _, u := range c.Upstreams {
		if u.Policy.Retries == 0 {
			u.Policy = c.Policy
		}
		u.Limits = u.Limits.orElse(defaultLimits)
		if u.Body == 0 {
			u.Body = defaultBodyBound
		}
		up := &upstream{Upstream: u, api: apiOf(u.API), baseURL: *u.baseURL()}
		up.prefix, up.escaped = up.pathPrefix()
		up.breaker = before.breakerOf(up)
		up.connections = before.transportOf(up, c.Base)
		if up.transport = up.connections; up.Key != nil {
			up.transport = redactingTransport{up.connections, up.Key}
		}
		up.proxy = g.newPassThrough(s, up)
		s.upstreams = append(s.upstreams, up)
	}
	for i := range apis {
		s.defaults = append(s.defaults, s.defaultFor(&apis[i]))
	}
	return s
}

// same finds the upstream that has the name and base URL of another.
func (s *setup) same(up *upstream) *upstream {
	if s == nil {
		return nil
	}
	for _, old := range s.upstreams {
		if old.Name == up.Name && old.baseURL == up.baseURL {
			return old
		}
	}
	return nil
}

// breakerOf gives an upstream its gate, or the one that it had before.
func (s *setup) breakerOf(up *upstream) *breaker.Breaker {
	if old := s.same(up); old != nil {
		return old.breaker
	}
	return breaker.New(up.Name)
}

// transportOf gives what reaches an upstream: its own, the gateway's, or
// connections of its own, which stay where nothing about them changes.
func (s *setup) transportOf(up *upstream, base http.RoundTripper) http.RoundTripper {
	switch {
	case up.Transport != nil:
		return up.Transport
	case base != nil:
		return base
	}
	if old := s.same(up); old != nil && old.Transport == nil && old.Limits.Connect == up.Limits.Connect {
		if _, ok := old.connections.(*http1.Transport); ok {
			return old.connections
		}
	}
	return newPooledTransport(bound(up.Limits.Connect))
}

// newPooledTransport gives a transport for many calls to few hosts: one of our own for
// plain HTTP/1.1, net/http's for the rest. It leaves encodings alone: what
// passes through passes unchanged.
func newPooledTransport(connect time.Duration) *http1.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = connect
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	return &http1.Transport{Fallback: t, Dial: t.DialContext}
}

// upstream finds an upstream by its name; nil: there is none.
func (s *setup) upstream(name string) *upstream {
	i := slices.IndexFunc(s.upstreams, func(u *upstream) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return s.upstreams[i]
}

// endpoint is what a request asks of its upstream.
type endpoint struct{ path, escaped string }

// match gives the upstream that a request is for and what it asks of it: the one
// that its path names first, else the first of the API that it speaks. A path
// with dots in it may lead anywhere, and no client sends one.
func (s *setup) match(r *http.Request) (*upstream, endpoint) {
	p, escaped := r.URL.Path, r.URL.EscapedPath()
	if path.Clean(p) != strings.TrimSuffix(p, "/") {
		return nil, endpoint{}
	}
	if name, below, ok := strings.Cut(strings.TrimPrefix(p, "/"), "/"); ok {
		if up := s.upstream(name); up != nil {
			return up, endpoint{"/" + below, strings.TrimPrefix(escaped, "/"+name)}
		}
	}
	for i := range apis {
		if apis[i].matches(r) {
			return s.defaults[i], endpoint{p, escaped}
		}
	}
	return nil, endpoint{}
}

// defaultFor gives the upstream that takes an API's requests by default. Requests
// of OpenAI's API go to another server that is compatible where there is none
// of its own.
func (s *setup) defaultFor(a *api) *upstream {
	for _, name := range append([]string{a.name}, a.compatibleAPIs()...) {
		if i := slices.IndexFunc(s.upstreams, func(u *upstream) bool { return u.API == name }); i >= 0 {
			return s.upstreams[i]
		}
	}
	return nil
}

// compatibleAPIs are the APIs that answer what is asked of this one.
func (a *api) compatibleAPIs() []string {
	if a.dialects == compatible {
		return []string{"lmstudio", "ollama"}
	}
	return nil
}

// pathPrefix gives the path that stands before those of the requests. Base URLs are
// what the API's clients take for one: OpenAI's end with the version, whatever
// it is called there, the others come before it. A version is never doubled.
func (u *upstream) pathPrefix() (plain, escaped string) {
	plain, escaped = strings.TrimRight(u.baseURL.Path, "/"), strings.TrimRight(u.baseURL.EscapedPath(), "/")
	if u.api.versioned {
		return plain, escaped
	}
	for _, version := range []string{"/v1beta", "/v1"} {
		if cut, ok := strings.CutSuffix(plain, version); ok {
			return cut, strings.TrimSuffix(escaped, version)
		}
	}
	return plain, escaped
}

// urlOf gives the upstream's URL for a request.
func (u *upstream) urlOf(to endpoint, query string) *url.URL {
	if u.api.versioned && u.prefix != "" {
		to.path, to.escaped = strings.TrimPrefix(to.path, "/v1"), strings.TrimPrefix(to.escaped, "/v1")
	}
	out := u.baseURL
	out.Path, out.RawPath = u.prefix+to.path, u.escaped+to.escaped
	if out.Path == out.RawPath {
		out.RawPath = ""
	}
	out.RawQuery = query
	return &out
}
