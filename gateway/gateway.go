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
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// Config says what a gateway stands in front of.
type Config struct {
	Upstreams map[string]*url.URL // base URLs by name, see Names; a missing one is the vendor's public URL
	Policy    policy.Policy       // when to try again; zero: never
	Base      http.RoundTripper   // reaches the upstreams; nil: a pooled http.Transport
	Faults    fault.Classifier    // names the faults; zero: the built-in rules
	Watch     func(Event)         // told of failed tries and recoveries, by concurrent callers; nil: nobody
}

// Event tells what became of one try of one request. It carries no prompt and
// no credentials.
type Event struct {
	Request  int64  // numbers the gateway's requests for an answer from 1
	Upstream string // its name
	Model    string // as the request names it; ""
	Note     retry.Note
}

// Gateway is the handler. Its methods may be called by many goroutines at the
// same time.
type Gateway struct {
	config    Config
	upstreams map[string]upstream
	requests  atomic.Int64
	closing   context.Context
	close     context.CancelCauseFunc
}

// upstream is one provider.
type upstream struct {
	name string
	base *url.URL
	pass *httputil.ReverseProxy // for what asks for no answer
}

// errClosing ends the waits of a gateway that is being closed.
var errClosing = errors.New("the gateway is shutting down")

// New makes a gateway.
func New(c Config) *Gateway {
	if c.Base == nil {
		c.Base = pooled()
	}
	g := &Gateway{config: c, upstreams: make(map[string]upstream)}
	g.closing, g.close = context.WithCancelCause(context.Background())
	for _, v := range vendors {
		base := c.Upstreams[v.name]
		if base == nil {
			base = v.public()
		}
		g.upstreams[v.name] = upstream{name: v.name, base: base, pass: g.passThrough(v, base)}
	}
	return g
}

// Close ends all waits: the requests that are being held are answered in a
// form that their clients may try again. Answers that are under way go on;
// http.Server.Shutdown waits for them.
func (g *Gateway) Close() { g.close(errClosing) }

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := vendorOf(r)
	if v == nil {
		welcome(w, r)
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
