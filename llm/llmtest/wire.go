package llmtest

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// wire records responses. Its methods may run concurrently.
type wire struct {
	base http.RoundTripper

	mu  sync.Mutex
	all []*response
}

// response is a recorded response.
type response struct {
	io.ReadCloser
	status int
	header http.Header
	body   []byte // of an error, all of it
	closed atomic.Bool
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
	w.all = append(w.all, seen)
	return resp, nil
}

// Close records that the body is closed.
func (r *response) Close() error {
	r.closed.Store(true)
	return r.ReadCloser.Close()
}

// open counts the responses that have not been closed.
func (w *wire) open() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.all {
		if !r.closed.Load() {
			n++
		}
	}
	return n
}

// answered returns the last response, of which there is one.
func (w *wire) answered() *response {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[len(w.all)-1]
}
