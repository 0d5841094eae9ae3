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
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/http1"
)

// setup is a configuration, made ready.
type setup struct {
	upstreams []*upstream
	takes     []*upstream // the one that takes each API's requests, in the order of apis; nil: none
	faults    fault.Classifier
	watch     func(Event)
}

// upstream is one provider, ready to be asked.
type upstream struct {
	Upstream
	api     *api
	target  url.URL // the base URL
	prefix  string  // of the base URL's path, without a version that the requests' paths have
	escaped string  // the same, escaped
	gate    *breaker.Breaker
	base    http.RoundTripper      // its connections
	reach   http.RoundTripper      // the same, with what stands before them
	proxy   *httputil.ReverseProxy // for what asks for no answer
}

// build makes a configuration ready. What the setup before it knows about
// outages goes on where an upstream has stayed what it was.
func (g *Gateway) build(c Config, before *setup) *setup {
	if len(c.Upstreams) == 0 {
		c.Upstreams = Defaults()
	}
	s := &setup{faults: c.Faults, watch: c.OnEvent}
	for _, u := range c.Upstreams {
		if u.Policy.Retries == 0 {
			u.Policy = c.Policy
		}
		u.Limits = u.Limits.or(usual)
		if u.Body == 0 {
			u.Body = bodyBound
		}
		up := &upstream{Upstream: u, api: apiOf(u.API), target: *u.base()}
		up.prefix, up.escaped = up.root()
		up.gate = before.gateOf(up)
		up.base = before.transportOf(up, c.Base)
		if up.reach = up.base; up.Key != nil {
			up.reach = discreet{up.base, up.Key}
		}
		up.proxy = g.passThrough(s, up)
		s.upstreams = append(s.upstreams, up)
	}
	for i := range apis {
		s.takes = append(s.takes, s.first(&apis[i]))
	}
	return s
}

// same finds the upstream that has the name and base URL of another.
func (s *setup) same(up *upstream) *upstream {
	if s == nil {
		return nil
	}
	for _, old := range s.upstreams {
		if old.Name == up.Name && old.target == up.target {
			return old
		}
	}
	return nil
}

// gateOf gives an upstream its gate, or the one that it had before.
func (s *setup) gateOf(up *upstream) *breaker.Breaker {
	if old := s.same(up); old != nil {
		return old.gate
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
		if _, ok := old.base.(*http1.Transport); ok {
			return old.base
		}
	}
	return pooled(bound(up.Limits.Connect))
}

// pooled gives a transport for many calls to few hosts: one of our own for
// plain HTTP/1.1, net/http's for the rest. It leaves encodings alone: what
// passes through passes unchanged.
func pooled(connect time.Duration) *http1.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = connect
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	return &http1.Transport{Fallback: t, Dial: t.DialContext}
}

// named finds an upstream by its name; nil: there is none.
func (s *setup) named(name string) *upstream {
	i := slices.IndexFunc(s.upstreams, func(u *upstream) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return s.upstreams[i]
}

// rest is what a request asks of its upstream.
type rest struct{ path, escaped string }

// find gives the upstream that a request is for and what it asks of it: the one
// that its path names first, else the first of the API that it speaks. A path
// with dots in it may lead anywhere, and no client sends one.
func (s *setup) find(r *http.Request) (*upstream, rest) {
	p, escaped := r.URL.Path, r.URL.EscapedPath()
	if path.Clean(p) != strings.TrimSuffix(p, "/") {
		return nil, rest{}
	}
	if name, below, ok := strings.Cut(strings.TrimPrefix(p, "/"), "/"); ok {
		if up := s.named(name); up != nil {
			return up, rest{"/" + below, strings.TrimPrefix(escaped, "/"+name)}
		}
	}
	for i := range apis {
		if apis[i].speaks(r) {
			return s.takes[i], rest{p, escaped}
		}
	}
	return nil, rest{}
}

// first gives the upstream that takes an API's requests by default. Requests
// of OpenAI's API go to another server that is compatible where there is none
// of its own.
func (s *setup) first(a *api) *upstream {
	for _, name := range append([]string{a.name}, a.standIns()...) {
		if i := slices.IndexFunc(s.upstreams, func(u *upstream) bool { return u.API == name }); i >= 0 {
			return s.upstreams[i]
		}
	}
	return nil
}

// standIns are the APIs that answer what is asked of this one.
func (a *api) standIns() []string {
	if a.dialects == compatible {
		return []string{"lmstudio", "ollama"}
	}
	return nil
}

// root gives the path that stands before those of the requests. Base URLs are
// what the API's clients take for one: OpenAI's end with the version, whatever
// it is called there, the others come before it. A version is never doubled.
func (u *upstream) root() (plain, escaped string) {
	plain, escaped = strings.TrimRight(u.target.Path, "/"), strings.TrimRight(u.target.EscapedPath(), "/")
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

// url gives the upstream's URL for a request.
func (u *upstream) url(to rest, query string) *url.URL {
	if u.api.versioned && u.prefix != "" {
		to.path, to.escaped = strings.TrimPrefix(to.path, "/v1"), strings.TrimPrefix(to.escaped, "/v1")
	}
	out := u.target
	out.Path, out.RawPath = u.prefix+to.path, u.escaped+to.escaped
	if out.Path == out.RawPath {
		out.RawPath = ""
	}
	out.RawQuery = query
	return &out
}
