package redact

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/coding"
)

// Transport sends requests with credentials that the reader of an answer must not see. A server may return what
// it was sent: asterisks are in place of the credentials in the headers, body and error of each answer. Their
// number is that of the credential's bytes, so that no length changes.
type Transport struct {
	Base   http.RoundTripper
	Server string // its name, for errors
	Err    error  // in the chain of the Transport's own faults

	latest atomic.Pointer[credentials]
}

// credentials are those of a request, with what finds them.
type credentials struct {
	keys             []string
	inError, inReply *Secret // of all keys, and of those that are no words; nil: there are none
}

// headers are those in which the APIs take credentials.
var headers = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "X-Amz-Security-Token"}

// ShortestKey is the length of a key that is no word of an answer, unlike "ollama" or "lm-studio". A shorter one is
// redacted only in errors, if at all.
const ShortestKey = 12

// shortestKnown is the length of a key that is redacted at all. A server that needs none is often sent one letter, and an
// error without that letter is not to be read.
const shortestKnown = 4

// RoundTrip sends one request.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := t.credentialsOf(req.Header)
	resp, err := t.Base.RoundTrip(req)
	if err != nil {
		return resp, redactedError(s.inError, err)
	}
	secret := s.inReply
	if resp.StatusCode >= http.StatusBadRequest {
		secret = s.inError
	}
	if secret == nil {
		return resp, nil
	}
	coding.DecodeUnasked(resp, req.Header)
	if err := t.unread(resp.Header); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	redactHeader(secret, resp.Header)
	resp.Status = secret.Text(resp.Status)
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		if conn, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = &redactedConn{conn, secret}
		}
	case resp.Body != nil && resp.Body != http.NoBody:
		resp.Body = &redactedBody{secret.Reader(resp.Body), resp.Body, resp, secret}
	}
	return resp, nil
}

// credentialsOf returns what finds the credentials of a request: those that it is sent with, even if they have been
// replaced since.
func (t *Transport) credentialsOf(h http.Header) *credentials {
	var few [2]string
	keys := few[:0]
	for _, name := range headers {
		for _, v := range h[name] {
			if key := Credential(name, v); len(key) >= shortestKnown {
				keys = append(keys, key)
			}
		}
	}
	s := t.latest.Load()
	if s == nil || !slices.Equal(s.keys, keys) {
		s = newCredentials(slices.Clone(keys))
		t.latest.Store(s)
	}
	return s
}

// newCredentials returns what finds keys.
func newCredentials(keys []string) *credentials {
	s := &credentials{keys: keys}
	if len(keys) > 0 {
		s.inError = NewSecret(keys...)
	}
	long := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return len(key) < ShortestKey })
	switch {
	case len(long) == len(keys):
		s.inReply = s.inError
	case len(long) > 0:
		s.inReply = NewSecret(long...)
	}
	return s
}

// Credential returns the credential in the value of a header, without its scheme. A signature, which differs in each
// request, does not count as one.
func Credential(header, value string) string {
	scheme, key, ok := strings.Cut(value, " ")
	switch {
	case header != headers[0] || !ok:
		return value
	case strings.HasPrefix(scheme, "AWS4-"):
		return ""
	}
	return key
}

// unread returns the error of an answer whose content coding cannot be read here; nil: no coding.
func (t *Transport) unread(h http.Header) error {
	for name := range strings.SplitSeq(strings.Join(h["Content-Encoding"], ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); slices.Contains(compressions, name) {
			return &fault.Error{
				Kind: fault.Invalid, Rule: "redact/coding", Err: t.Err,
				Message: t.Server + " answered with the content coding " + name + ", in which its key could pass unseen",
			}
		}
	}
	return nil
}

// compressions are the content codings that change a text.
var compressions = []string{"br", "zstd", "gzip", "x-gzip", "deflate", "compress", "x-compress", "dcb", "dcz"}

// redactHeader redacts the values of headers or trailers.
func redactHeader(s *Secret, h http.Header) {
	for _, values := range h {
		for i, v := range values {
			values[i] = s.Text(v)
		}
	}
}

// redactedError returns an error without the secret; nil: none. One that has them is no more than its text.
func redactedError(s *Secret, err error) error {
	if s == nil {
		return err
	}
	text := err.Error()
	if redacted := s.Text(text); redacted != text {
		return errors.New(redacted)
	}
	return err
}

// redactedBody is a body without the credentials.
type redactedBody struct {
	io.Reader
	io.Closer
	resp   *http.Response
	secret *Secret
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

// redactedConn is an upgraded connection without the credentials. Nothing of it is held back, since either side may
// wait for the other: a key that is split between two reads is not found.
type redactedConn struct {
	io.ReadWriteCloser
	secret *Secret
}

func (c *redactedConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.secret.Mask(p[:n], true)
	return n, err
}
