// Package gateway is a reverse proxy for the APIs of language models. It retries a request for an answer
// until the provider is back, and the client, which only needs another base URL, never notices.
//
// Package transport retries and decides what may be retried; package breaker holds what all callers of a
// failing upstream share. The gateway adds what a client on the other side of a connection needs. It selects
// the upstream, keeps the request's body and the client's connection while the request waits, and reports a
// failure in the API's own form once the headers are out. It coalesces a request that is sent again, fails
// over to another upstream, and ends everything when the client disconnects. A request for no answer is
// proxied.
//
// A request passes five stations. Each is a type, and can be read alone: [intake] is the request as it has come in,
// [outcomeTable] knows what has become of it before, failover is where it may go, [sharedRequest] has it tried
// and waits at its [door], and [call] answers the client.
//
// Locks are taken in this order, and no two of a line at once:
//
//	sharedRequest.mu
//	outcomeTable.mu
//	keptAnswer.mu, keepalive.mu, promptCaches.mu, commonCredentials.mu
//
// No lock is held while a client or an upstream is written to or read from.
//
// It has many files because each station has one, and so has each question that several of them ask.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/responses"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// Gateway is the handler. Its methods may be called by many goroutines at the same time.
type Gateway struct {
	id       string // marks what it sends, to know a request that comes back to it
	seed     api.DigestSeed
	setup    atomic.Pointer[setup]
	requests atomic.Int64
	headroom ratelimit.Table // the limits that the upstreams state, by their names
	caches   promptCaches    // that the sessions have at the upstreams
	outcomes outcomeTable    // what has become of the requests
	spool    spool.Spool     // the bodies of requests
	sockets  sync.WaitGroup

	draining, closing context.Context // end with Drain and with Close
	drain, close      context.CancelCauseFunc
}

// errClosing ends the requests of a gateway that is drained or closed.
var errClosing = errors.New("the gateway is shutting down")

// New returns a gateway. Its error is that of [Config.Check].
func New(c Config) (*Gateway, error) {
	g := &Gateway{id: rand.Text(), seed: api.DigestSeed{maphash.MakeSeed(), maphash.MakeSeed()}}
	g.draining, g.drain = context.WithCancelCause(context.Background())
	g.closing, g.close = context.WithCancelCause(context.Background())
	if err := g.Use(c); err != nil {
		return nil, err
	}
	if c.Fleet != nil {
		g.requests.Store(c.Fleet.First)
	}
	return g, nil
}

// Use replaces the configuration for the requests that arrive from then on. An upstream that keeps its name
// and base URL keeps its breaker. On an error, that of [Config.Check], the old configuration stays.
func (g *Gateway) Use(c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	g.spool.Configure(spool.Limits(c.Spool))
	before := g.setup.Load()
	after := g.build(c, before)
	g.setup.Store(after)
	before.leaveUpstreams(after)
	return nil
}

// Drain ends all waits: a waiting request is answered with an error that its client may retry. Tries and
// answers in progress continue, and http.Server.Shutdown waits for them.
func (g *Gateway) Drain() { g.drain(errClosing) }

// Close drains the gateway and ends the requests in progress too: each with an error that its client may
// retry, or, when part of its answer is out, with the API's own error event.
func (g *Gateway) Close() {
	g.Drain()
	g.close(errClosing)
	for _, s := range g.outcomes.running() {
		s.cancel(errClosing)
	}
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := g.setup.Load()
	up, rest := s.match(r)
	if up == nil {
		s.serveUnmatched(w, r)
		return
	}
	if !slices.Contains(methods, r.Method) {
		up.refuseMethod(w, r)
		return
	}
	if slices.Contains(r.Header[viaHeader], g.id) {
		up.refuseLoop(w, r)
		return
	}
	if r.Header[preamble.Command] != nil {
		g.serveCommand(w, r, up)
		return
	}
	if up.cannotPass(r) {
		up.refuseSigned(w, r)
		return
	}
	// An upstream may answer before it has read the request. Without this the
	// server would consume the rest of the request, and the answer would be lost.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
	var own *exchange.Body
	if _, bound := r.Body.(*exchange.Body); !bound { // else the server in front of the gateway finishes
		own = exchange.Bound(w, r, exchange.Unread())
	}
	if !r.ProtoAtLeast(1, 1) {
		defer exchange.ResetIfAborted(w)
	}
	g.serve(w, r, s, up, rest)
	own.Finish(w)
}

// serve answers a request to an endpoint of an upstream.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, s *setup, up *upstream, rest endpoint) {
	d := registry.Of(r.Method, rest.path)
	switch {
	case d != nil:
		newCall(g, s, up, rest, d, w, r).serve()
	case responses.IsHandshake(r) && registry.Of(http.MethodPost, rest.path) == openai.Responses():
		g.serveSocket(w, r, up)
	default:
		g.passThrough(w, r, up, rest)
	}
}

// serveSocket answers the requests of a WebSocket of the Responses API.
func (g *Gateway) serveSocket(w http.ResponseWriter, r *http.Request, up *upstream) {
	if up.NoSocket {
		w.Header().Set(shouldRetryHeader, "false")
		d := openai.Responses()
		reply(w, d, http.StatusUpgradeRequired, d.ErrorBody(&fault.Error{Kind: fault.Invalid},
			"ridethrough: the upstream "+up.Name+" is configured to refuse WebSockets; send POSTs"))
		return
	}
	g.sockets.Add(1)
	defer g.sockets.Done()
	responses.Serve(w, r, g, g.draining, &g.spool)
}

// WaitSockets returns when all WebSockets are closed, which Drain brings about, or when ctx ends, with its
// cause. http.Server.Shutdown does not wait for them.
func (g *Gateway) WaitSockets(ctx context.Context) error {
	return clock.Await(ctx, &g.sockets)
}

// methods are those of the APIs. TRACE would return the request with the upstream's own key, and what an
// upstream does with an unknown one is not known.
var methods = []string{http.MethodPost, http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete}

// refuseMethod answers a request with another method.
func (u *upstream) refuseMethod(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", strings.Join(methods, ", "))
	u.refuse(w, r, http.StatusMethodNotAllowed, &fault.Error{Kind: fault.Invalid}, "no API has the method "+text.Clip(r.Method, idBound))
}

// refuseLoop answers a request that has come back to the gateway.
func (u *upstream) refuseLoop(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(shouldRetryHeader, "false")
	u.refuse(w, r, http.StatusLoopDetected, &fault.Error{Kind: fault.Invalid},
		"the upstream "+u.Name+" leads back to this gateway; give it another base URL")
}
