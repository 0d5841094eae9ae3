// Package gateway stands between programs and their providers as an
// [http.Handler]: a request for an answer is tried again until the provider is
// back, and the client, which only has to be given another base URL, never
// notices.
//
// Retrying, and what may be retried, is package transport's. The gateway adds
// what a client on the other side of a connection needs: it keeps that
// connection alive while the request waits, says in the API's own form what
// went wrong once the headers are out, and ends everything when the client
// leaves. Everything that asks for no answer is passed through.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// Config says what a gateway stands in front of.
type Config struct {
	Upstreams map[string]*url.URL // base URLs by name; only those of Names count. A missing one is the vendor's public URL
	Policy    policy.Policy       // when to try again; zero: never
	Base      http.RoundTripper   // reaches the upstreams; nil: a pooled http.Transport
	Faults    fault.Classifier    // names the faults; zero: the built-in rules
	Watch     func(Event)         // told of failed tries and recoveries, by concurrent callers; nil: nobody
}

// Event tells what became of one try of one request. It carries no prompt and
// no credentials.
type Event struct {
	Request  int64      // numbers the gateway's requests for an answer from 1
	Upstream string     // its name
	Model    string     // as the request names it; ""
	Note     retry.Note // of this try; of the one before where Left is set
	Left     bool       // the client has left while its request waited
}

// Gateway is the handler. Its methods may be called by many goroutines at the
// same time.
type Gateway struct {
	config    Config
	id        string // marks what it sends, to know a request that comes back to it
	upstreams map[string]upstream
	requests  atomic.Int64

	draining, closing context.Context // ended by Drain and Close
	drain, close      context.CancelCauseFunc
}

// upstream is one provider.
type upstream struct {
	vendor *vendor
	base   *url.URL
	pass   *httputil.ReverseProxy // for what asks for no answer
}

// errClosing ends what a gateway holds when it is being closed.
var errClosing = errors.New("the gateway is shutting down")

// New makes a gateway.
func New(c Config) *Gateway {
	if c.Base == nil {
		c.Base = pooled()
	}
	g := &Gateway{config: c, id: rand.Text(), upstreams: make(map[string]upstream)}
	g.draining, g.drain = context.WithCancelCause(context.Background())
	g.closing, g.close = context.WithCancelCause(context.Background())
	for i := range vendors {
		v := &vendors[i]
		up := upstream{vendor: v, base: c.Upstreams[v.name]}
		if up.base == nil {
			up.base = v.public()
		}
		up.pass = g.passThrough(up)
		g.upstreams[v.name] = up
	}
	return g
}

// Drain ends all waits: the requests that are being held are answered in a
// form that their clients may try again. Tries and answers that are under way
// go on; http.Server.Shutdown waits for them.
func (g *Gateway) Drain() { g.drain(errClosing) }

// Close ends the requests for an answer that are under way as well: each in a
// form that its client may try again, or, when part of its answer is out, in
// the API's own error.
func (g *Gateway) Close() {
	g.Drain()
	g.close(errClosing)
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := vendorOf(r)
	if v == nil {
		welcome(w, r)
		return
	}
	if slices.Contains(r.Header.Values(viaHeader), g.id) {
		w.Header().Set("X-Should-Retry", "false")
		reply(w, http.StatusLoopDetected, v.dialect.ErrorBody(&fault.Error{Kind: fault.Invalid},
			"ridethrough: the upstream "+v.name+" leads back to this gateway; give another with --upstream"))
		return
	}
	// An upstream may answer before it has read the request. Without this the
	// server would then swallow the rest of it, and the answer would be lost.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
	up := g.upstreams[v.name]
	d := dialect.Of(r.Method, r.URL.Path)
	if d == nil {
		up.pass.ServeHTTP(w, r)
		return
	}
	c := &call{gateway: g, upstream: up, dialect: d, w: w, r: r, arrived: time.Now(), id: g.requests.Add(1)}
	c.serve()
}

// pooled gives a transport for many calls to few hosts. It leaves encodings
// alone: what passes through passes unchanged.
func pooled() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	return t
}
