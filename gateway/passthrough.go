package gateway

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// passThroughPolicy is for a request that asks for no answer and may be repeated,
// such as a list of models: its true outcome is better than a long wait.
func passThroughPolicy() policy.Policy {
	return policy.Policy{
		Retries: 3,
		Backoff: policy.Backoff{
			Steps:  []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second},
			Jitter: policy.Jitter{Down: 0.1, Up: 0.1},
		},
		MaxWait: 4 * time.Second,
	}
}

// untilBack is for a request without which a program does not begin: it waits until the upstream is back, as the answer
// that is asked for next would.
func untilBack(p policy.Policy) policy.Policy {
	held := passThroughPolicy()
	held.Retries, held.MaxWait = policy.Unlimited, untilBackLimit
	held.Backoff.Steps = append(held.Backoff.Steps, 5*time.Second)
	if p.MaxWait > 0 {
		held.MaxWait = min(held.MaxWait, p.MaxWait)
	}
	return held
}

// untilBackLimit bounds such a wait: no page shows it, and nothing keeps its client alive.
const untilBackLimit = 10 * time.Minute

// comesFirst reports whether a request is the one with which `ollama run` begins. Other clients ask for a model's
// details to show them, and rather have an error.
func comesFirst(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/api/show") && strings.HasPrefix(r.UserAgent(), "ollama/")
}

// briefRetries retries a request once it has failed, for as long as passThroughPolicy says, tries included: a client may
// have a limit of its own, and retries when it gets the failure. Its repetitions are sent once.
type briefRetries struct {
	*transport.Transport
	to *upstream
}

// RoundTrip implements http.RoundTripper.
func (b briefRetries) RoundTrip(req *http.Request) (*http.Response, error) {
	t, began := *b.Transport, time.Now()
	if p := b.to.Policy; comesFirst(req) && p.Retries > 0 {
		t.Retry.Policy = untilBack(*p)
	}
	if limit := clientLimit(req.Header); limit > 0 {
		t.Retry.Policy.MaxWait = min(t.Retry.Policy.MaxWait, limit/2)
	}
	t.Retry.Held = func() time.Duration { return time.Since(began) }
	t.Retry.OnWait = func(w policy.Wait) { began = w.Due }
	t.Retry.Breaker = b.to.breaker.Witness(b.to.scopeOf(req))
	return t.RoundTrip(req)
}

// scopeOf returns what a request asks for, one that asks for no answer.
func (u *upstream) scopeOf(req *http.Request) breaker.Scope {
	d := u.errorsOf(req)
	s := d.Scanner()
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			buf := make([]byte, largeBuffer)
			for n, found := 0, false; err == nil && !found; {
				n, err = body.Read(buf)
				found = s.Scan(buf[:n])
			}
			_ = body.Close()
		}
	}
	return breaker.Scope{Model: d.Request(req.URL, &s).Model, Credential: breaker.Credential(req.Header, req.URL)}
}

// limitHeaders are those in which SDKs say how long they wait for an answer, in seconds: Stainless's and Google's.
var limitHeaders = []string{"X-Stainless-Timeout", "X-Server-Timeout"}

// clientLimit returns how long a client waits for an answer; 0: it does not say.
func clientLimit(h http.Header) time.Duration {
	for _, name := range limitHeaders {
		if n, err := strconv.Atoi(h.Get(name)); err == nil && n > 0 {
			return time.Duration(min(n, math.MaxInt32)) * time.Second
		}
	}
	return 0
}

// repeatBound is the largest body that is kept for another try of such a request.
const repeatBound = 4 << 20

// newPassThrough returns the proxy for an upstream's other endpoints.
func (g *Gateway) newPassThrough(s *setup, up *upstream) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: briefRetries{&transport.Transport{
			Base: up.transport, Faults: s.faultsOf(up), Relays: true,
			Retry:  retry.Retrier{Policy: passThroughPolicy()},
			Limits: up.Limits.perTry(),
		}, up},
		FlushInterval:  -1,
		ErrorLog:       log.New(io.Discard, "", 0),      // the client sees an answer that breaks off
		Rewrite:        func(*httputil.ProxyRequest) {}, // passThrough has done it
		ModifyResponse: passThroughHeaders,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // the client has left
			}
			f := s.faults.Of(err, time.Now())
			up.refuse(w, r, http.StatusBadGateway, f, up.noAnswer(f))
		},
	}
}

// passThrough proxies a request that asks for no answer.
func (g *Gateway) passThrough(w http.ResponseWriter, r *http.Request, u *upstream, to endpoint) {
	received := exchange.Bound(w, r, exchange.Unread())
	out := r.WithContext(r.Context())
	out.Header = r.Header.Clone()
	query := r.URL.RawQuery
	if err := u.authorize(out.Header, &query); err != nil {
		_ = r.Body.Close() // the server would take the rest of it for the next request
		f := classify.Of(err, time.Now())
		u.refuse(w, r, http.StatusUnauthorized, f, f.Error())
		return
	}
	for name := range out.Header {
		if strings.HasPrefix(name, headerPrefix) {
			delete(out.Header, name)
		}
	}
	u.tellVia(out.Header, r.Header, g.id)
	protectNamed(out.Header)
	out.URL, out.Host = u.urlOf(to, query), ""
	if keep := u.keepsBody(r, to); keep > 0 {
		body, err := g.spool.Read(r.Body, r.ContentLength, keep)
		if err != nil {
			u.refuseBody(w, r, received, u.errorsOf(r), err)
			return
		}
		defer body.Release()
		out.GetBody, out.ContentLength = body.Open, int64(body.Size())
		out.Body, _ = body.Open()
	}
	if u.Key != nil || u.Sign != nil {
		out.Header["Accept-Encoding"] = []string{"identity"} // the key could pass unseen in another
	}
	u.proxy.ServeHTTP(newFinalWriter(w), out)
}

// keepsBody returns how many bytes of a body are kept to be read again: for another try, or to be signed first;
// 0: it is sent as it comes.
func (u *upstream) keepsBody(r *http.Request, to endpoint) int64 {
	switch {
	case r.ContentLength == 0:
		return 0
	case u.Sign != nil:
		return u.largest()
	case api.Safe(r.Method, to.path) && 0 < r.ContentLength && r.ContentLength <= repeatBound:
		return repeatBound
	}
	return 0
}

// errLocal is in the chain of a fault that is the gateway's, not the upstream's.
var errLocal = errors.New("in the gateway")

// noAnswer is the text of an error without an answer from the upstream.
func (u *upstream) noAnswer(f *fault.Error) string {
	if errors.Is(f, errLocal) {
		return f.Error()
	}
	if f.Kind == fault.Timeout { // the address has taken the request
		return fmt.Sprintf("no answer from %s: %v", u.Name, f)
	}
	hint := "is the address right? see --upstream"
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](f); unknown {
		hint = "is the authority of its certificate the one that ca: of this upstream names?"
		if u.Network.CA == "" {
			hint = "if its certificate is of an authority of your own, name that in ca: of this upstream"
		}
	}
	return fmt.Sprintf("no answer from %s at %s: %v (%s)", u.Name, u.baseURL.Redacted(), f, hint)
}

// reply answers with an error of the gateway, whose body is in this dialect.
func reply(w http.ResponseWriter, d *api.API, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	d.SetErrorHeader(w.Header(), body)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// refuse answers a request with an error of the gateway, in the form that its client reads.
func (u *upstream) refuse(w http.ResponseWriter, r *http.Request, status int, f *fault.Error, why string) {
	d := u.errorsOf(r)
	reply(w, d, status, d.ErrorBody(f, "ridethrough: "+why))
}

// errorsOf returns the API in whose form the client of a request reads errors: that of the path, or else the upstream's.
// Ollama and LM Studio have OpenAI's below /v1.
func (u *upstream) errorsOf(r *http.Request) *api.API {
	var other *api.API
	if strings.Contains(u.api.dialects, compatible) && under(strings.TrimPrefix(r.URL.Path, u.prefix), "/v1") {
		other = openai.Chat()
	}
	return cmp.Or(registry.ErrorsOf(r.URL.Path, r.Header), other, u.api.errors)
}

// serveUnmatched answers a request that matches no upstream: a client's check for a server, or a browser.
func (s *setup) serveUnmatched(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ridethrough is running. Set this address as the base URL of your client; see the README.\n")
		return
	}
	names := make([]string, len(s.upstreams))
	for i, u := range s.upstreams {
		names[i] = u.Name + " (" + u.API + ")"
	}
	d, hint := cmp.Or(registry.ErrorsOf(r.URL.Path, r.Header), openai.Chat()), ""
	if lacksVersion(r) {
		hint = "; the client's base URL lacks /v1: set " + addressOf(r) + "/v1"
	}
	reply(w, d, http.StatusNotFound, d.ErrorBody(&fault.Error{Kind: fault.Invalid},
		"ridethrough: "+r.Method+" "+r.URL.Path+" matches no upstream; configured are "+strings.Join(names, ", ")+hint))
}

// lacksVersion reports whether a path is one of an API but for the version before it.
func lacksVersion(r *http.Request) bool {
	return registry.Of(r.Method, "/v1"+r.URL.Path) != nil || under(r.URL.Path, "/models") || under(r.URL.Path, "/embeddings")
}

// addressOf returns the address that a client has sent a request to.
func addressOf(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
