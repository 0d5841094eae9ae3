package gemini

import (
	"io"
	"net/http"
)

// quietTransport is between the SDK and provider.Observe. The SDK logs a broken connection, so it is shown
// a clean end instead; the observer has the real error. And the SDK requires a key, so a placeholder is
// removed again.
type quietTransport struct {
	http.RoundTripper
	keyless bool
}

// RoundTrip sends the request.
func (h quietTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if h.keyless {
		req = req.Clone(req.Context())
		req.Header.Del("X-Goog-Api-Key")
	}
	resp, err := h.RoundTripper.RoundTrip(req)
	if err == nil && resp.Body != nil {
		resp.Body = quietBody{resp.Body}
	}
	return resp, err
}

// quietBody is a body that ends only with io.EOF.
type quietBody struct{ io.ReadCloser }

// Read reports an error as the end of the body.
func (q quietBody) Read(p []byte) (int, error) {
	n, err := q.ReadCloser.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// Close closes the body and hides its error.
func (q quietBody) Close() error {
	_ = q.ReadCloser.Close() // nothing could be done about it
	return nil
}
