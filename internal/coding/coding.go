// Package coding reads bodies in a content coding, for those who have asked for none: what is in them must be
// seen before a client gets them.
package coding

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Of returns the content coding of a body in lower case; "": none.
func Of(h http.Header) string {
	coding := h["Content-Encoding"]
	if len(coding) == 0 || strings.EqualFold(coding[0], "identity") {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(coding[0]))
}

// decoders are the content codings that can be read: those of HTTP that servers and proxies use.
var decoders = map[string]func(io.Reader) (io.Reader, error){
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"zstd": func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	},
}

// DecodeUnasked makes a response plain whose coding the request does not accept: some servers compress in
// spite of "identity", and neither a transport nor its caller could read such an answer.
func DecodeUnasked(resp *http.Response, accepted http.Header) {
	coding := Of(resp.Header)
	open := decoders[coding]
	if open == nil || strings.Contains(strings.ToLower(strings.Join(accepted["Accept-Encoding"], ",")), coding) {
		return
	}
	resp.Body = &decodedBody{src: resp.Body, open: open}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
}

// decodedBody decodes a body as it comes. The decoder is made by the first Read, since it waits for bytes.
type decodedBody struct {
	src   io.ReadCloser
	open  func(io.Reader) (io.Reader, error)
	plain io.Reader
	err   error // of open
}

// Read reads the decoded body.
func (b *decodedBody) Read(p []byte) (int, error) {
	if b.plain == nil && b.err == nil {
		b.plain, b.err = b.open(b.src)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.plain.Read(p)
}

// Close closes the body that is decoded.
func (b *decodedBody) Close() error { return b.src.Close() }

// Decoded returns a body as far as it can be decoded and up to a bound. One that cannot be is returned as it is if it
// is a text, and else as nothing.
func Decoded(h http.Header, body []byte, bound int64) []byte {
	open := decoders[Of(h)]
	if open == nil {
		return text(body)
	}
	r, err := open(strings.NewReader(string(body)))
	if err != nil {
		return text(body)
	}
	plain, _ := io.ReadAll(io.LimitReader(r, bound)) // a cut body is read as far as it goes
	return plain
}

// text returns a body if it is a text; nil: it is not.
func text(body []byte) []byte {
	binary := func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) }
	if !utf8.Valid(body) || bytes.ContainsFunc(body, binary) {
		return nil
	}
	return body
}
