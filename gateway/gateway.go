// Package gateway stands between programs and their providers as an
// [http.Handler]: a request for an answer is tried again until the provider is
// back, and the client, which only has to be given another base URL, never
// notices.
//
// Retrying, and what may be retried, is package transport's; what all callers
// of an upstream share while it fails is package breaker's. The gateway adds what
// a client on the other side of a connection needs: it finds the upstream,
// keeps the request's body and the client's connection while the request
// waits, says in the API's own form what went wrong once the headers are out,
// recognises a request that is sent again, goes on at another upstream where
// it is told to, and ends everything when the client leaves. Everything that
// asks for no answer is passed through.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

// Gateway is the handler. Its methods may be called by many goroutines at the
// same time.
type Gateway struct {
	id        string // marks what it sends, to know a request that comes back to it
	setup     atomic.Pointer[setup]
	requests  atomic.Int64
	waits     waitList      // the requests that wait, for people
	coalescer coalescer     // the requests under way and those that have just failed, for their re-sends
	spool     spool         // the bodies of those that wait
	readSlots chan struct{} // through which requests come in whose upstream is out

	draining, closing context.Context // ended by Drain and Close
	drain, close      context.CancelCauseFunc
}

// maxSlowReads is how many requests are read at a time whose upstream is out.
// Where only one of its models or accounts is, slow clients may hold up a request
// of another for as long as the server lets them dawdle.
const maxSlowReads = 64

// errClosing ends what a gateway holds when it is being closed.
var errClosing = errors.New("the gateway is shutting down")

// New makes a gateway. Its error is that of [Config.Check].
func New(c Config) (*Gateway, error) {
	g := &Gateway{id: rand.Text(), readSlots: make(chan struct{}, maxSlowReads)}
	g.draining, g.drain = context.WithCancelCause(context.Background())
	g.closing, g.close = context.WithCancelCause(context.Background())
	if err := g.Use(c); err != nil {
		return nil, err
	}
	return g, nil
}

// Use gives the gateway another configuration, which holds for the requests
// that come in from then on. What is known about an upstream's outage stays
// where its name and base URL do. The error is that of [Config.Check]; the
// configuration is the old one then.
func (g *Gateway) Use(c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	g.spool.configure(c.Spool)
	g.setup.Store(g.build(c, g.setup.Load()))
	return nil
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
	s := g.setup.Load()
	up, rest := s.match(r)
	if up == nil {
		s.serveUnmatched(w, r)
		return
	}
	if slices.Contains(r.Header[viaHeader], g.id) {
		up.refuseLoop(w)
		return
	}
	// An upstream may answer before it has read the request. Without this the
	// server would then swallow the rest of it, and the answer would be lost.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
	d := dialect.Of(r.Method, rest.path)
	if d == nil {
		up.passThrough(w, r, rest, g.id)
		return
	}
	newCall(g, s, up, rest, d, w, r).serve()
}

// refuseLoop refuses a request that has come back to the gateway.
func (u *upstream) refuseLoop(w http.ResponseWriter) {
	w.Header().Set(shouldRetryHeader, "false")
	reply(w, http.StatusLoopDetected, u.api.errors.ErrorBody(&fault.Error{Kind: fault.Invalid},
		"ridethrough: the upstream "+u.Name+" leads back to this gateway; give it another base URL"))
}
