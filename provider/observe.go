package provider

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/redact"
	"github.com/ridethrough/ridethrough/transport"
)

// Observe returns a client that behaves like the given one and records each response for its [Call]; nil:
// [DefaultClient]. One of Observe's is returned as it is. A model asks with it, or passes it to an SDK. What a request was authorized with is not in its
// response: asterisks are in its place, since faults and answers are stored and shown.
func Observe(client *http.Client) *http.Client {
	if client == nil {
		client = DefaultClient()
	}
	if _, observed := client.Transport.(*observer); observed {
		return client
	}
	watched := *client
	watched.Transport = &observer{base: redacting(watched.Transport)}
	return &watched
}

// redacting returns a transport whose responses are without the request's credentials. In a [transport.Transport] they
// are masked below it, since it reports the waits at a gateway ahead of the response.
func redacting(base http.RoundTripper) http.RoundTripper {
	if t, ok := base.(*transport.Transport); ok {
		below := *t
		below.Base = redacting(t.Base)
		return &below
	}
	if base == nil {
		base = http.DefaultTransport
	}
	return &redact.Transport{Base: base, Server: "the provider"}
}

// callKey is the context key of a request's call.
type callKey struct{}

// observation is the actual response to a call.
type observation struct {
	sent   bool
	status int         // 0: no response
	header http.Header // of the response
	body   []byte      // its beginning, if it is not a stream
	err    error       // the error that ended the body; nil: none yet
}

// bodyBound is how much of a body is kept, in bytes: what package classify reads.
const bodyBound = 64 << 10

// observer sends a request and records the response. What is for gateways goes only to those that may be one.
type observer struct {
	base  http.RoundTripper
	peers sync.Map // of *preamble.Peer, by host
}

// RoundTrip records the response to a request's call. Of an error response the client gets only the
// recorded part: some SDKs keep an error's body without a bound.
func (w *observer) RoundTrip(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*Call)
	if ok {
		c.observed = observation{sent: true}
	}
	known, _ := w.peers.LoadOrStore(req.URL.Host, new(preamble.Peer))
	peer := known.(*preamble.Peer)
	if preamble.From(req.Context()) != nil && !peer.MayBeGateway(req.URL) {
		req = req.WithContext(preamble.With(req.Context(), nil))
	}
	resp, err := w.base.RoundTrip(req)
	if err == nil && resp != nil {
		peer.Note(resp)
	}
	if !ok || err != nil || resp == nil || resp.Body == nil {
		return resp, err
	}
	c.observed.status, c.observed.header = resp.StatusCode, resp.Header
	if resp.StatusCode < http.StatusBadRequest {
		kind := resp.Header.Get("Content-Type")
		stream := strings.HasPrefix(kind, "text/event-stream") || strings.HasPrefix(kind, "application/x-ndjson")
		resp.Body = &observedBody{resp.Body, &c.observed, !stream}
		return resp, nil
	}
	c.observed.body, _ = io.ReadAll(io.LimitReader(resp.Body, bodyBound)) // if it breaks off, the status is enough
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(c.observed.body))
	return resp, nil
}

// observedBody is the body of an answer that the client reads.
type observedBody struct {
	io.ReadCloser
	observed *observation
	keep     bool
}

// Read records how the body ends, and its beginning.
func (t *observedBody) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if t.keep {
		room := bodyBound - len(t.observed.body)
		t.observed.body = append(t.observed.body, p[:min(n, room)]...)
	}
	if err != nil {
		t.observed.err = err
	}
	return n, err
}
