package gemini

import (
	"io"
	"net/http"
)

// quietTransport is between the SDK and the watch over the wire. The SDK writes a
// connection that breaks into the program's log, so it is shown an end instead:
// the watch has seen the truth. And it cannot do without a key, so one that is
// none is taken off again.
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

// quietBody is a body that ends in nothing but an end.
type quietBody struct{ io.ReadCloser }

func (q quietBody) Read(p []byte) (int, error) {
	n, err := q.ReadCloser.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (q quietBody) Close() error {
	_ = q.ReadCloser.Close() // nobody could do anything about it
	return nil
}
