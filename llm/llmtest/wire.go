package llmtest

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// wire records responses. Its methods may run concurrently.
type wire struct {
	base http.RoundTripper

	mu   sync.Mutex
	last *response
	all  []*response
}

// response is a recorded response.
type response struct {
	io.ReadCloser
	status int
	header http.Header
	body   []byte // of an error, all of it

	mu     sync.Mutex
	closed bool
}

// RoundTrip records the response. The body of an error is read first, so that all of it is known whatever
// a client reads.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	seen := &response{ReadCloser: resp.Body, status: resp.StatusCode, header: resp.Header.Clone()}
	if resp.StatusCode >= http.StatusBadRequest {
		seen.body, _ = io.ReadAll(resp.Body) // an error that breaks off is as long as it is
		_ = resp.Body.Close()
		seen.ReadCloser = io.NopCloser(bytes.NewReader(seen.body))
	}
	resp.Body = seen
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.all = seen, append(w.all, seen)
	return resp, nil
}

// Close records that the body is closed.
func (r *response) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.ReadCloser.Close()
}

// open counts the responses that have not been closed.
func (w *wire) open() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.all {
		r.mu.Lock()
		if !r.closed {
			n++
		}
		r.mu.Unlock()
	}
	return n
}

// answered returns the last response; nil: there is none.
func (w *wire) answered() *response {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
