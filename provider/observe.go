package provider

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Observe returns a client that behaves like the given one and records each response for its [Call]; nil:
// [DefaultClient]. A model asks with it, or passes it to an SDK.
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

// observer sends a request and records the response.
type observer struct{ base http.RoundTripper }

// RoundTrip records the response to a request's call. Of an error response the client gets only the
// recorded part: some SDKs keep an error's body without a bound.
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
	c.observed.body, _ = io.ReadAll(io.LimitReader(resp.Body, bodyBound)) // if it breaks off, the status is enough
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(c.observed.body))
	return resp, nil
}

// isStream reports whether a response announces a stream.
func isStream(h http.Header) bool {
	kind := h.Get("Content-Type")
	return strings.HasPrefix(kind, "text/event-stream") || strings.HasPrefix(kind, "application/x-ndjson")
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
