package provider

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Observe gives a client that does what the given one does and shows each call
// what comes over the wire; nil: [DefaultClient]. A model gives it to its SDK.
func Observe(client *http.Client) *http.Client {
	if client == nil {
		client = DefaultClient()
	}
	watched := *client
	if watched.Transport == nil {
		watched.Transport = http.DefaultTransport
	}
	watched.Transport = observer{watched.Transport}
	return &watched
}

// callKey is where a request's context has its call.
type callKey struct{}

// observation is what has come over the wire in answer to a call.
type observation struct {
	sent   bool
	status int         // 0: no response
	header http.Header // of the response
	body   []byte      // its beginning, where it is no stream
	err    error       // how reading the body has ended; nil: it has not
}

// bodyBound is how much of a body is kept, in bytes: what package fault looks at.
const bodyBound = 64 << 10

// observer sends a request and notes the response.
type observer struct{ base http.RoundTripper }

// RoundTrip notes a response for the request's call. Of one with an error status
// the SDK gets what is kept: some keep an error's body without a bound.
func (w observer) RoundTrip(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*Call)
	if ok {
		c.observed = observation{sent: true}
	}
	resp, err := w.base.RoundTrip(req)
	if !ok || err != nil || resp == nil || resp.Body == nil {
		return resp, err
	}
	c.observed.status, c.observed.header = resp.StatusCode, resp.Header
	if resp.StatusCode < http.StatusBadRequest {
		resp.Body = &observedBody{resp.Body, &c.observed, !isStream(resp.Header)}
		return resp, nil
	}
	c.observed.body, _ = io.ReadAll(io.LimitReader(resp.Body, bodyBound)) // the status says enough if it breaks off
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(c.observed.body))
	return resp, nil
}

// isStream tells whether a response says that its body is a stream.
func isStream(h http.Header) bool {
	kind := h.Get("Content-Type")
	return strings.HasPrefix(kind, "text/event-stream") || strings.HasPrefix(kind, "application/x-ndjson")
}

// observedBody is the body of an answer that the SDK reads.
type observedBody struct {
	io.ReadCloser
	seen *observation
	keep bool
}

// Read notes how the body ends, and keeps its beginning.
func (t *observedBody) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if t.keep {
		room := bodyBound - len(t.seen.body)
		t.seen.body = append(t.seen.body, p[:min(n, room)]...)
	}
	if err != nil {
		t.seen.err = err
	}
	return n, err
}
