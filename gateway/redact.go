package gateway

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/coding"
	"github.com/ridethrough/ridethrough/internal/redact"
)

// redactingTransport reaches an upstream that has a key of its own. An upstream may return what it was sent,
// and the key is for no client: asterisks are in its place in the headers, body and error of each answer.
// Their number is that of the key's bytes, so that no length changes.
type redactingTransport struct {
	http.RoundTripper
	upstream string // its name
	header   string // that has the key
	latest   atomic.Pointer[keySecret]
}

// keySecret is a key with what finds it.
type keySecret struct {
	key string
	*redact.Secret
}

// wordKey is the length of a key that is no word of an answer, unlike "ollama" or "lm-studio". A shorter one is
// redacted only in errors.
const wordKey = 12

// RoundTrip sends one request.
func (t *redactingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := t.secretOf(req.Header)
	resp, err := t.RoundTripper.RoundTrip(req)
	if err != nil && s.key != "" {
		return resp, redactedError(s, err)
	}
	if err != nil || s.key == "" || len(s.key) < wordKey && resp.StatusCode < http.StatusBadRequest {
		return resp, err
	}
	coding.DecodeUnasked(resp, req.Header)
	if err := t.unread(resp.Header); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	redactHeader(s, resp.Header)
	resp.Status = s.Text(resp.Status)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		if conn, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = &redactedConn{conn, s.Secret}
		}
	case resp.Body != nil && resp.Body != http.NoBody:
		resp.Body = &redactedBody{Reader: s.Reader(resp.Body), resp: resp, src: resp.Body, secret: s}
	}
	return resp, nil
}

// secretOf returns what finds the key of a request: the one that it is sent with, even if it has been replaced
// since.
func (t *redactingTransport) secretOf(h http.Header) *keySecret {
	key := ""
	if v := h[t.header]; len(v) > 0 {
		key = strings.TrimPrefix(v[0], bearer)
	}
	s := t.latest.Load()
	if s == nil || s.key != key {
		s = &keySecret{key, redact.NewSecret(key)}
		t.latest.Store(s)
	}
	return s
}

// unread returns the error of an answer whose content coding cannot be read here; nil: it has none.
func (t *redactingTransport) unread(h http.Header) error {
	for name := range strings.SplitSeq(strings.Join(h["Content-Encoding"], ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); slices.Contains(compressions, name) {
			return &fault.Error{
				Kind: fault.Invalid, Rule: "gateway/coding", Err: errLocal,
				Message: t.upstream + " answered with the content coding " + name + ", in which its key could pass unseen",
			}
		}
	}
	return nil
}

// compressions are the content codings that change a text.
var compressions = []string{"br", "zstd", "gzip", "x-gzip", "deflate", "compress", "x-compress", "dcb", "dcz"}

// redactHeader redacts the values of headers or trailers.
func redactHeader(s *keySecret, h http.Header) {
	for _, values := range h {
		for i, v := range values {
			values[i] = s.Text(v)
		}
	}
}

// redactedError returns an error without the key. One that has it is no more than its text.
func redactedError(s *keySecret, err error) error {
	text := err.Error()
	if redacted := s.Text(text); redacted != text {
		return errors.New(redacted)
	}
	return err
}

// redactedBody is a body without the key.
type redactedBody struct {
	io.Reader
	resp   *http.Response
	src    io.Closer
	secret *keySecret
}

func (b *redactedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	switch {
	case err == io.EOF:
		redactHeader(b.secret, b.resp.Trailer)
	case err != nil:
		err = redactedError(b.secret, err)
	}
	return n, err
}

func (b *redactedBody) Close() error { return b.src.Close() }

// redactedConn is an upgraded connection without the key. Nothing of it is held back, since either side may
// wait for the other: a key that is split between two reads is not found.
type redactedConn struct {
	io.ReadWriteCloser
	secret *redact.Secret
}

func (c *redactedConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.secret.Mask(p[:n], true)
	return n, err
}
