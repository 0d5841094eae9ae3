package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/http1"
)

// tape is a connection on which everything has been said, to be read in pieces.
type tape struct {
	text  []byte
	piece int // 0: all at once
}

func (c *tape) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	if c.piece > 0 {
		p = p[:min(c.piece, len(p))]
	}
	n := copy(p, c.text)
	c.text = c.text[n:]
	return n, nil
}

func (*tape) Write(p []byte) (int, error)      { return len(p), nil }
func (*tape) Close() error                     { return nil }
func (*tape) LocalAddr() net.Addr              { return nil }
func (*tape) RemoteAddr() net.Addr             { return nil }
func (*tape) SetDeadline(time.Time) error      { return nil }
func (*tape) SetReadDeadline(time.Time) error  { return nil }
func (*tape) SetWriteDeadline(time.Time) error { return nil }

// read is an answer as a reader has understood it.
type read struct {
	status string
	header http.Header
	length int64
	coding []string
	close  bool
	body   string
	err    error // of the body
}

func readAll(resp *http.Response, buf int) read {
	var body bytes.Buffer
	_, err := io.CopyBuffer(&body, struct{ io.Reader }{resp.Body}, make([]byte, buf))
	resp.Body.Close()
	resp.Header.Del("Trailer") // net/http says it elsewhere
	return read{resp.Status, resp.Header, resp.ContentLength, resp.TransferEncoding, resp.Close, body.String(), err}
}

// ourReading reads the text as this package does, in pieces of that size and
// with that buffer.
func ourReading(method string, text []byte, piece, buf int) (read, error) {
	rt := &http1.Transport{Dial: func(context.Context, string, string) (net.Conn, error) {
		return &tape{text, piece}, nil
	}}
	defer rt.CloseIdleConnections()
	resp, err := rt.RoundTrip(request(method, "http://upstream/", "")(context.Background()))
	if err != nil {
		return read{}, err
	}
	return readAll(resp, buf), nil
}

// theirReading reads the text as net/http does.
func theirReading(method string, text []byte) (read, error) {
	in := bufio.NewReader(bytes.NewReader(text))
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return read{}, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode < 100 {
			return readAll(resp, 512), nil
		}
	}
}

// lenient are the reasons for which net/http refuses the end of a body that is
// whole here: trailers, which are dropped, and its own bounds on extensions.
var lenient = []string{"malformed MIME header", "trailer", "header line too long", "too much non-data", "message too large"}

// FuzzAnswer wants every answer that is accepted to be read as net/http reads
// it, to the byte, and whatever the pieces in which it comes: then no reader can
// slip in another one.
func FuzzAnswer(f *testing.F) {
	for _, c := range answers {
		f.Add(c.method, []byte(c.text), 0, 512)
		f.Add(c.method, []byte(c.text), 1, 1)
	}
	f.Fuzz(func(t *testing.T, method string, text []byte, piece, buf int) {
		if method != http.MethodHead {
			method = http.MethodGet
		}
		piece, buf = max(0, piece%64), 1+max(0, buf%(8<<10))
		got, err := ourReading(method, text, piece, buf)
		again, errAgain := ourReading(method, text, 0, 8<<10)
		if (err == nil) != (errAgain == nil) || !sameReading(got, again) {
			t.Fatalf("in pieces %+v, %v\nat once %+v, %v", got, err, again, errAgain)
		}
		if err != nil {
			return
		}
		want, err := theirReading(method, text)
		if err != nil {
			t.Fatalf("net/http refuses it: %v", err)
		}
		if cc := want.header["Cache-Control"]; len(cc) == 1 && got.header["Cache-Control"] == nil {
			want.header.Del("Cache-Control") // it has been made of Pragma
		}
		if got.err == nil && want.err != nil && isLenient(want.err) || got.err != nil && strings.HasPrefix(want.body, got.body) {
			got.body, got.err = want.body, want.err
		}
		if !sameReading(got, want) {
			t.Fatalf("\n got %+v\nwant %+v", got, want)
		}
	})
}

func sameReading(a, b read) bool {
	errA, errB := a.err, b.err
	a.err, b.err = nil, nil
	return reflect.DeepEqual(a, b) && (errA == nil) == (errB == nil)
}

func isLenient(err error) bool {
	for _, reason := range lenient {
		if strings.Contains(err.Error(), reason) {
			return true
		}
	}
	return false
}

// FuzzRequest wants whatever is sent to arrive as one request, and as it was
// meant.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/v1/messages", "beta=true", "api.example.com", "X-A", "1", "{}")
	f.Add("GET", "/a b", "", "", "Content-Length", "5", "")
	f.Add("G T", "//x", "a b", "a\r\nb", "X-A\r\nX-B", "a\nb", "0\r\n\r\n")
	f.Fuzz(func(t *testing.T, method, path, query, host, name, value, text string) {
		req := request("POST", "http://upstream/", text)(t.Context())
		req.Method, req.URL.Path, req.URL.RawQuery, req.Host = method, path, query, host
		req.Header[name] = []string{value}
		req.Close = true
		conn := &recorder{tape: tape{text: []byte("HTTP/1.1 204 No Content\r\n\r\n")}}
		rt := &http1.Transport{Fallback: refuse{}, Dial: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
		if _, err := rt.RoundTrip(req); err != nil {
			return
		}
		in := bufio.NewReader(&conn.sent)
		got, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http refuses it: %v", err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil || string(body) != text || in.Buffered() > 0 {
			t.Errorf("body %q, %v, and %d bytes behind it", body, err, in.Buffered())
		}
		if method == "" {
			method = "GET"
		}
		if got.Method != method || got.URL.Path != path && path != "" && !strings.HasPrefix(path, "//") || got.URL.RawQuery != query {
			t.Errorf("request: got %s %q %q, want %s %q %q", got.Method, got.URL.Path, got.URL.RawQuery, method, path, query)
		}
	})
}

// recorder is a tape that keeps what is written.
type recorder struct {
	tape
	sent bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) { return r.sent.Write(p) }
