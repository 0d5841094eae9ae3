package gateway

import (
	"cmp"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/redact"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/transport"
)

// setup is a configuration in use.
type setup struct {
	upstreams []*upstream
	defaults  []*upstream // the upstream of each API's requests, in the order of apis; nil: none
	faults    classify.Classifier
	receive   exchange.Limits
	detached  Detached
	fleet     *Fleet
	onEvent   func(Event)

	credential func(http.Header, *url.URL) string // names the credentials of a request
}

// upstream is one configured provider.
type upstream struct {
	Upstream
	api         *family
	baseURL     url.URL
	prefix      string // the base URL's path, without a version that the requests' paths have
	escaped     string // the same, escaped
	breaker     *breaker.Breaker
	leave       func() // ends the sharing of the breaker and the limits; nil: nothing does
	learned     *transport.Learned
	peer        *preamble.Peer         // what has answered there
	connections http.RoundTripper      // its connections, or the transport that was configured
	pooled      bool                   // they are its own
	transport   http.RoundTripper      // the same, redacting the upstream's own key
	proxy       *httputil.ReverseProxy // for requests that ask for no answer
}

// build returns the setup of a configuration. An upstream that was in the setup
// before keeps its breaker and its connections.
func (g *Gateway) build(c Config, before *setup) *setup {
	if len(c.Upstreams) == 0 {
		c.Upstreams = Defaults()
	}
	limits := DefaultReceive()
	if c.Receive != nil {
		limits = *c.Receive
	}
	s := &setup{receive: limits.limits(), detached: c.Detached.withDefaults(), faults: c.Faults, fleet: c.Fleet, onEvent: c.OnEvent}
	if s.credential = breaker.Credential; c.Share != nil {
		s.credential = new(commonCredentials).of
	}
	for _, u := range c.Upstreams {
		if u.Policy == nil {
			u.Policy = &c.Policy
		}
		if u.Limits == nil {
			l := DefaultLimits()
			u.Limits = &l
		}
		up := &upstream{Upstream: u, api: apiOf(u.API), baseURL: *u.baseURL()}
		up.prefix, up.escaped = up.pathPrefix()
		g.setBreaker(up, before, c.Share)
		up.peer = before.peerOf(up)
		up.learned = before.learnedOf(up, c.Learned)
		up.connections = before.transportOf(up, c.Base)
		if up.transport = up.connections; up.Key != nil {
			up.transport = up.redacting()
		}
		if up.Sign != nil {
			up.transport = &signingTransport{RoundTripper: up.redacting(), upstream: up.Name, sign: up.Sign}
		}
		up.proxy = g.newPassThrough(s, up)
		s.upstreams = append(s.upstreams, up)
	}
	for i := range apis {
		s.defaults = append(s.defaults, s.defaultFor(&apis[i]))
	}
	return s
}

// same returns the upstream with the name and base URL of another; nil: none.
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

// peerOf returns what has answered at the address of an upstream.
func (s *setup) peerOf(up *upstream) *preamble.Peer {
	if old := s.same(up); old != nil {
		return old.peer
	}
	return new(preamble.Peer)
}

// setBreaker sets the breaker of an upstream: the one that it had before, or a new one.
func (g *Gateway) setBreaker(up *upstream, before *setup, share Share) {
	if old := before.same(up); old != nil {
		up.breaker, up.leave = old.breaker, old.leave
		return
	}
	if up.breaker = breaker.New(up.Name); share != nil {
		up.leave = share(up.Name, &up.baseURL, up.breaker, &g.headroom)
	}
}

// leaveUpstreams ends the sharing of those that are no longer there after a change.
func (s *setup) leaveUpstreams(after *setup) {
	if s == nil {
		return
	}
	for _, up := range s.upstreams {
		if up.leave != nil && after.same(up) == nil {
			up.leave()
		}
	}
}

// learnedOf returns what has been learned of an upstream.
func (s *setup) learnedOf(up *upstream, stored func(string) *transport.Learned) *transport.Learned {
	if stored != nil {
		return stored(up.Name)
	}
	if old := s.same(up); old != nil {
		return old.learned
	}
	return new(transport.Learned)
}

// transportOf returns what reaches an upstream: the gateway's transport, or
// pooled connections, which stay if nothing about them changes.
func (s *setup) transportOf(up *upstream, base http.RoundTripper) http.RoundTripper {
	if base != nil {
		return base
	}
	up.pooled = true
	if old := s.same(up); old != nil && old.pooled && old.Limits.Connect == up.Limits.Connect && old.Network == up.Network {
		return old.connections
	}
	return up.Network.Transport(up.Limits.Connect)
}

// redacting returns what reaches an upstream that has a key of its own, which no client may see.
func (u *upstream) redacting() http.RoundTripper {
	return &redact.Transport{Base: u.connections, Server: u.Name, Err: errLocal}
}

// faultsOf returns what classifies the faults of an upstream.
func (s *setup) faultsOf(up *upstream) classify.Classifier {
	c := s.faults
	c.Provider = up.Name
	return c
}

// upstream returns the upstream with a name, or nil.
func (s *setup) upstream(name string) *upstream {
	i := slices.IndexFunc(s.upstreams, func(u *upstream) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return s.upstreams[i]
}

// endpoint is the path of a request at its upstream.
type endpoint struct{ path, escaped string }

// match returns the upstream and the endpoint of a request; nil: none. It is the
// upstream that the path names first, else the default one of the API that
// matches. A path with dot segments matches nothing: no client sends one.
func (s *setup) match(r *http.Request) (*upstream, endpoint) {
	p, escaped := r.URL.Path, r.URL.EscapedPath()
	if path.Clean(p) != strings.TrimSuffix(p, "/") {
		return nil, endpoint{}
	}
	if name, below, ok := strings.Cut(strings.TrimPrefix(p, "/"), "/"); ok {
		if up := s.upstream(name); up != nil && s.takesAzure(up, r) {
			return up, endpoint{"/" + below, strings.TrimPrefix(escaped, "/"+name)}
		}
	}
	i := apiFor(r)
	switch {
	case i < 0:
		return nil, endpoint{}
	case isOpenRouter(p):
		return s.openRouter(i), endpoint{strings.TrimPrefix(p, "/api"), strings.TrimPrefix(escaped, "/api")}
	}
	return s.defaults[i], endpoint{p, escaped}
}

// openRouter returns the upstream of a request of OpenRouter's SDK to an API: the first at OpenRouter, or at a server with
// such paths, else the first of the API.
func (s *setup) openRouter(api int) *upstream {
	i := slices.IndexFunc(s.upstreams, func(u *upstream) bool {
		return u.api == &apis[api] && under(u.baseURL.Path, "/api")
	})
	if i < 0 {
		return s.defaults[api]
	}
	return s.upstreams[i]
}

// defaultFor returns the upstream of an API's requests; nil: none. Without an
// upstream of OpenAI's API, its requests go to a compatible server.
func (s *setup) defaultFor(a *family) *upstream {
	for _, name := range append([]string{a.name}, a.compatibleAPIs()...) {
		if i := slices.IndexFunc(s.upstreams, func(u *upstream) bool { return u.API == name }); i >= 0 {
			return s.upstreams[i]
		}
	}
	return nil
}

// compatibleAPIs are the other APIs that answer this one's requests.
func (a *family) compatibleAPIs() []string {
	if a.name == "openai" {
		return []string{"lmstudio", "ollama"}
	}
	return nil
}

// pathPrefix returns the path before that of a request. A base URL is what the API's clients take for one:
// OpenAI's ends with a version, whatever its name, the others end before it. A version is never doubled.
func (u *upstream) pathPrefix() (plain, escaped string) {
	plain, escaped = strings.TrimRight(u.baseURL.Path, "/"), strings.TrimRight(u.baseURL.EscapedPath(), "/")
	if u.api.versioned {
		return plain, escaped
	}
	for _, version := range u.api.baseEnds() {
		if cut, ok := strings.CutSuffix(plain, version); ok {
			return cut, strings.TrimSuffix(escaped, version)
		}
	}
	return plain, escaped
}

// ClientURL returns the base URL of the upstream in the form in which the API's own tools take it: with /v1 for
// OpenAI's API and those like it. A client that has it reaches the upstream without the gateway.
func (u *Upstream) ClientURL() *url.URL {
	up := upstream{Upstream: *u, api: apiOf(u.API), baseURL: *u.baseURL()}
	plain, _ := up.pathPrefix()
	switch {
	case u.API == azure:
		plain += "/openai/v1"
	case u.API == "lmstudio", up.api.versioned && plain == "":
		plain += "/v1"
	}
	up.baseURL.Path, up.baseURL.RawPath = plain, ""
	return &up.baseURL
}

// urlOf returns the upstream's URL of an endpoint.
func (u *upstream) urlOf(to endpoint, query string) *url.URL {
	if u.api.versioned && u.prefix != "" {
		to.path, to.escaped = strings.TrimPrefix(to.path, "/v1"), strings.TrimPrefix(to.escaped, "/v1")
	}
	out := u.baseURL
	switch u.api.name {
	case azure:
		to = azureEndpoint(to)
	case vertex:
		to = vertexEndpoint(to)
		out.Host = vertexHost(&u.baseURL, to.path)
	}
	out.Path, out.RawPath = u.prefix+to.path, ""
	if u.prefix != u.escaped || to.path != to.escaped {
		out.RawPath = u.escaped + to.escaped
	}
	out.RawQuery = query
	return &out
}

// perTry returns the limits that package transport keeps.
func (l Limits) perTry() transport.Limits {
	return transport.Limits{FirstByte: l.FirstByte, WithoutContent: l.Content, Idle: l.Idle}
}

// settings are what holds for one request at an upstream.
type settings struct {
	policy    *policy.Policy
	limits    *Limits
	fallback  []Fallback
	admission Admission
	reserve   float64
}

// settings returns what holds for the requests to a model. The upstream's own policy and limits are set.
func (u *Upstream) settings(model string) settings {
	p, l, f := u.ForModel(model)
	admission, reserve := u.admissionFor(model)
	return settings{p, l, f, admission, reserve}
}

// CompleteFor returns what happens to an answer of a model that breaks off.
func (u *Upstream) CompleteFor(model string) CompleteMode {
	mode := u.Complete
	if r := u.route(model); r != nil {
		mode = cmp.Or(r.Complete, mode)
	}
	return cmp.Or(mode, CompleteLossless)
}

// admissionFor returns which requests for a model wait for room, and the share that is kept for people.
func (u *Upstream) admissionFor(model string) (mode Admission, reserve float64) {
	mode, reserve = u.Admission, u.Reserve
	if r := u.route(model); r != nil {
		mode = cmp.Or(r.Admission, mode)
		if r.Reserve != nil {
			reserve = *r.Reserve
		}
	}
	return cmp.Or(mode, AdmissionLearned), reserve
}

// route returns the first route that is for a model; nil: none is.
func (u *Upstream) route(model string) *Route {
	i := slices.IndexFunc(u.Routes, func(r Route) bool { return r.matches(model) })
	if i < 0 {
		return nil
	}
	return &u.Routes[i]
}

// ForModel returns what holds for the requests to a model: that of the first route that matches it, or else the
// upstream's. A nil policy is the gateway's, nil limits are DefaultLimits().
func (u *Upstream) ForModel(model string) (p *policy.Policy, l *Limits, fallback []Fallback) {
	p, l, fallback = u.Policy, u.Limits, u.Fallback
	r := u.route(model)
	if r == nil {
		return p, l, fallback
	}
	p, l = cmp.Or(r.Policy, p), cmp.Or(r.Limits, l)
	if r.Fallback != nil {
		fallback = r.Fallback
	}
	return p, l, fallback
}

// matches reports whether a route is for a model.
func (r Route) matches(model string) bool {
	for _, pattern := range r.Models {
		if ok, _ := path.Match(pattern, model); ok {
			return true
		}
	}
	return len(r.Models) == 0
}
