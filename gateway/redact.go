package gateway

import (
	"bytes"
	"io"
	"net/http"
)

// redactingTransport reaches an upstream that has a key of its own. Some providers
// repeat the key in their errors, which go to clients that must not see it.
type redactingTransport struct {
	http.RoundTripper
	key func() (string, error)
}

// RoundTrip sends one request. The body of an error has "***" in place of the key.
func (t redactingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(req)
	if err != nil || resp.StatusCode < http.StatusBadRequest || resp.Body == nil {
		return resp, err
	}
	if key, kerr := t.key(); kerr == nil && key != "" {
		resp.Body = &redactedBody{ReadCloser: resp.Body, key: []byte(key)}
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
	return resp, nil
}

// redactBound is how much of an error's body is read, far more than one has.
const redactBound = 1 << 20

// redactedBody is a body without the key. It is read whole first, since the key
// may be split between two reads.
type redactedBody struct {
	io.ReadCloser
	key  []byte
	text io.Reader // nil: nothing is read yet
}

func (b *redactedBody) Read(p []byte) (int, error) {
	if b.text == nil {
		text, err := io.ReadAll(io.LimitReader(b.ReadCloser, redactBound))
		b.text = bytes.NewReader(bytes.ReplaceAll(text, b.key, []byte("***")))
		if err != nil {
			b.text = io.MultiReader(b.text, failedReader{err})
		}
	}
	return b.text.Read(p)
}
