package http1

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// framing is where the body of an answer ends: after a number of bytes, after its
// last chunk, or with the connection.
type framing struct {
	left    int64 // bytes
	chunked bool
	close   bool
	chunks  chunks
}

// chunkedOnly is the only transfer coding that is accepted.
const chunkedOnly = "chunked"

// set reads the framing from the header (RFC 9112, 6.3) and sets the fields of
// the response that depend on it.
func (f *framing) set(resp *http.Response) error {
	length, err := contentLength(resp.Header["Content-Length"])
	if err != nil {
		return err
	}
	codings := resp.Header["Transfer-Encoding"]
	chunked := len(codings) > 0
	switch {
	case chunked && (len(codings) > 1 || !strings.EqualFold(codings[0], chunkedOnly)):
		return malformed("transfer encoding %.64q", codings)
	case chunked && length >= 0:
		return malformed("a length and a transfer encoding")
	case chunked && resp.ProtoMinor == 0:
		return malformed("a transfer encoding in HTTP/1.0")
	case chunked:
		delete(resp.Header, "Transfer-Encoding")
		resp.TransferEncoding = []string{chunkedOnly}
	}
	resp.Close = closesAfter(resp)
	resp.ContentLength = length
	switch {
	case resp.Request.Method == http.MethodHead:
	case resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified:
		resp.ContentLength = 0
	case chunked:
		f.chunked = true
	case length >= 0:
		f.left = length
	default:
		f.close, resp.Close = true, true
	}
	return nil
}

// closesAfter reports whether the connection closes after the answer. As in
// net/http, it then removes the header that says so.
func closesAfter(resp *http.Response) bool {
	connection := resp.Header["Connection"]
	if resp.ProtoMinor == 0 {
		return hasToken(connection, "close") || !hasToken(connection, "keep-alive")
	}
	if !hasToken(connection, "close") {
		return false
	}
	delete(resp.Header, "Connection")
	return true
}

// contentLength reads a length; -1: there is none. Two are an error, even if they are the same.
func contentLength(values []string) (int64, error) {
	switch {
	case len(values) == 0:
		return -1, nil
	case len(values) > 1:
		return 0, malformed("more than one length")
	}
	n, err := strconv.ParseUint(values[0], 10, 63) // takes no sign
	if err != nil {
		return 0, malformed("length %.64q", values[0])
	}
	return int64(n), nil
}

// ended reports whether all of the body has been taken.
func (f *framing) ended() bool {
	return f.left == 0 && !f.close && (!f.chunked || f.chunks.state == chunksEnd)
}

// fits reports whether p has room for all that is left.
func (f *framing) fits(p []byte) bool { return f.left > 0 && f.left <= int64(len(p)) }

// bound returns the part of p that may be read into.
func (f *framing) bound(p []byte) []byte {
	if f.left > 0 {
		return p[:min(int64(len(p)), f.left)]
	}
	return p
}

// take moves the body's bytes from raw to p, which may be the same memory. It
// returns the bytes written and read.
func (f *framing) take(p, raw []byte) (written, used int, err error) {
	if f.chunked {
		return f.chunks.decode(p, raw)
	}
	n := int64(math.MaxInt64)
	if !f.close {
		n = f.left
	}
	written = copy(p, raw[:min(n, int64(len(raw)))])
	if !f.close {
		f.left -= int64(written)
	}
	return written, written, nil
}

// cut returns the error for the end of the connection inside the body.
func (f *framing) cut(err error) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case f.close:
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}
