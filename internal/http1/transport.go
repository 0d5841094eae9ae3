// Package http1 is an [http.RoundTripper] for upstreams that speak HTTP/1.1 without TLS: Ollama, LM Studio,
// vLLM, a provider behind a proxy on the same machine. The gateway uses it because net/http's own costs about
// as much as the rest of a proxy: two goroutines for each connection, which exchange each request with the
// caller.
//
// Here the calling goroutine writes the request and reads the answer. Only a request that the server reads
// slowly gets a goroutine of its own. Rare cases, such as https, upgrades, proxies and trailers, are left to
// net/http. Nothing is tried again, except when a pooled connection turns out to be dead.
//
// It is strict where two readers of the same bytes could differ about where a
// message ends (RFC 9112, 6 and 11): such an answer is an error.
package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/internal/socket"
)

// Transport sends requests over pooled connections. The zero Transport works. It may be used by many
// goroutines at the same time, and must not be changed or copied after its first use.
//
// It does what net/http's Transport with DisableCompression would, with these differences:
//   - trailers of an answer are read and dropped
//   - an answer with a folded header line, two lengths, or a length and a transfer
//     coding is an error
//   - Pragma is not translated, and Expect is sent without waiting
//   - only the dial calls [net/http/httptrace]
//
// A request's body with a method Buffers(net.Buffers) net.Buffers is not read but written from the memory that
// this appends, unless it appends nothing. The memory must not change until the body is closed, which may be
// after RoundTrip has returned. Reading the body of a request with a GetBody is taken not to block.
type Transport struct {
	// Fallback sends the requests that this Transport does not; nil:
	// http.DefaultTransport. With an *http.Transport, those for its Proxy too.
	Fallback http.RoundTripper

	// Dial connects, until its context ends; nil: a net.Dialer with a timeout of 10 s. It must not return connections
	// of TLS, which cannot be used after a write that has timed out.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	IdlePerHost int           // connections kept for later requests, for each host; 0: 256
	IdleTimeout time.Duration // how long; 0: 90 s

	idle pool
}

// RoundTrip sends one request and returns with the header of its answer. When the request's context ends, so
// do the request and the reading of the answer's body, with context.Cause.
//
// A request on a pooled connection that ends before the first byte of an answer
// is sent once more on a fresh one, if its body can be had again. An [Observer] is told.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.sends(req) {
		return t.sendOther(req)
	}
	resp, err := t.try(req, req.Body, false)
	gone, stale := errors.AsType[*staleError](err)
	if !stale {
		return resp, err
	}
	body := req.Body
	if bodyLength(req) != 0 {
		if req.GetBody == nil {
			return nil, gone.error
		}
		if body, err = req.GetBody(); err != nil {
			return nil, gone.error
		}
	}
	if !gone.unsent {
		noteResent(req)
	}
	return t.try(req, body, true)
}

// staleError is the end of a pooled connection before the first byte of an answer.
type staleError struct {
	error
	unsent bool // nothing of the request had been written
}

// try sends the request once, with the body.
func (t *Transport) try(req *http.Request, body body, fresh bool) (*http.Response, error) {
	x := newExchange(t, req, body)
	head, err := appendHead(x.buf[:0], req)
	if err == nil {
		x.conn, err = t.connect(req, fresh)
	}
	if err != nil {
		x.free()
		x.up.close()
		return nil, err
	}
	if err = x.run(head); err == nil {
		return &x.resp, nil
	}
	x.end(false)
	switch {
	case req.Context().Err() != nil:
		return nil, context.Cause(req.Context())
	case x.up.broken():
		return nil, x.up.err
	case x.conn.reused && !x.answered:
		return nil, &staleError{err, x.up.unsent}
	}
	return nil, err
}

// connect returns a connection to the request's host.
//
//go:noinline its frame would be on the stack of every request that waits
func (t *Transport) connect(req *http.Request, fresh bool) (*conn, error) {
	ctx := req.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !fresh {
		if c := t.take(req.URL.Host); c != nil {
			return c, nil
		}
	}
	port := req.URL.Port()
	if port == "" {
		port = "80"
	}
	dial := t.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	raw, err := apart(ctx, dial, net.JoinHostPort(req.URL.Hostname(), port))
	switch {
	case err == nil:
		return newConn(socket.New(raw), req.URL.Host), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, err
}

// apart dials in a goroutine of its own: it takes a deep stack, and the request's stays as large for as long as the
// request waits for its answer.
func apart(ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), addr string) (raw net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err = dial(ctx, "tcp", addr)
	}()
	<-done
	return raw, err
}

func (t *Transport) fallback() http.RoundTripper {
	if t.Fallback == nil {
		return http.DefaultTransport
	}
	return t.Fallback
}

// CloseIdleConnections closes the connections that no request uses, and those of the Fallback.
func (t *Transport) CloseIdleConnections() {
	t.idle.clear()
	if f, ok := t.Fallback.(interface{ CloseIdleConnections() }); ok {
		f.CloseIdleConnections()
	}
}
