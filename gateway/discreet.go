package gateway

import (
	"bytes"
	"io"
	"net/http"
)

// discreet reaches an upstream that is sent a key of ours. Some providers repeat
// the key in their errors, which go to clients that must not have it.
type discreet struct {
	http.RoundTripper
	key func() (string, error)
}

// RoundTrip sends one request. In an error's body "***" stands for the key.
func (d discreet) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(req)
	if err != nil || resp.StatusCode < http.StatusBadRequest || resp.Body == nil {
		return resp, err
	}
	if key, kerr := d.key(); kerr == nil && key != "" {
		resp.Body = &hiding{ReadCloser: resp.Body, key: []byte(key)}
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
	return resp, nil
}

// hidingBound is how much of an error's body is looked at, far more than one has.
const hidingBound = 1 << 20

// hiding is a body in which a key is hidden. It is read as a whole first, since
// the key may lie across two reads.
type hiding struct {
	io.ReadCloser
	key  []byte
	text io.Reader // nil: nothing is read yet
}

func (h *hiding) Read(p []byte) (int, error) {
	if h.text == nil {
		text, err := io.ReadAll(io.LimitReader(h.ReadCloser, hidingBound))
		h.text = bytes.NewReader(bytes.ReplaceAll(text, h.key, []byte("***")))
		if err != nil {
			h.text = io.MultiReader(h.text, failing{err})
		}
	}
	return h.text.Read(p)
}
