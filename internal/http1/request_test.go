package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
)

// dribbles says a text byte by byte.
func dribbles(text string, closes bool) func(net.Conn, *bufio.Reader) {
	return func(conn net.Conn, in *bufio.Reader) {
		for reads(in) {
			for i := range len(text) {
				if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
					return
				}
			}
			if closes {
				return
			}
		}
	}
}

// received is what a server gets to see of a request.
type received struct {
	Line, Host, Body string
	Header           http.Header
	Length           int64
	Coding           []string
	Close            bool
	Trailer          http.Header
}

// receive sends a request and returns what has arrived.
func receive(t *testing.T, make func(context.Context) *http.Request, send func(*server) http.RoundTripper) (got received, err error) {
	s := serve(t, func(conn net.Conn, in *bufio.Reader) {
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			got = received{req.Method + " " + req.RequestURI + " " + req.Proto, req.Host, string(body), req.Header, req.ContentLength, req.TransferEncoding, req.Close, req.Trailer}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	resp, err := send(s).RoundTrip(make(t.Context()))
	if err == nil {
		resp.Body.Close()
	}
	return got, err
}

// request makes a request and changes it.
func request(method, url, body string, changes ...func(*http.Request)) func(context.Context) *http.Request {
	return func(ctx context.Context) *http.Request {
		var r io.Reader
		if body != "" {
			r = strings.NewReader(body)
		}
		req, err := http.NewRequestWithContext(ctx, method, url, r)
		if err != nil {
			panic(err)
		}
		for _, c := range changes {
			c(req)
		}
		return req
	}
}

func set(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}
func unsized(r *http.Request)  { r.ContentLength, r.GetBody = -1, nil }
func streamed(r *http.Request) { r.GetBody = nil }
func inMemory(r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	r.Body = &stored{*bytes.NewReader(text), text}
}

var long = strings.Repeat("0123456789abcdef", 20<<10)

func TestTransport_RequestsAreThoseOfNetHTTP(t *testing.T) {
	for name, make := range map[string]func(context.Context) *http.Request{
		"GET":                      request("GET", "http://upstream/v1/models?limit=5", ""),
		"no path":                  request("GET", "http://upstream", ""),
		"no path, a query":         request("GET", "http://upstream?a=b", ""),
		"an empty query":           request("GET", "http://upstream/?", ""),
		"an escaped path":          request("GET", "http://upstream/a%2Fb/ä b", ""),
		"a port":                   request("GET", "http://upstream:8080/", ""),
		"an address":               request("GET", "http://[::1]:8080/", ""),
		"no method":                request("", "http://upstream/", ""),
		"POST without a body":      request("POST", "http://upstream/", ""),
		"DELETE without a body":    request("DELETE", "http://upstream/", ""),
		"a body":                   request("POST", "http://upstream/", "{}"),
		"a body of GET":            request("GET", "http://upstream/", "{}"),
		"a body beyond a buffer":   request("POST", "http://upstream/", long[:5000]),
		"a body of one block":      request("POST", "http://upstream/", long[:64<<10]),
		"a body of many blocks":    request("POST", "http://upstream/", long),
		"a streamed body":          request("POST", "http://upstream/", "{}", streamed),
		"a long streamed body":     request("POST", "http://upstream/", long, streamed),
		"a body in memory":         request("POST", "http://upstream/", "{}", inMemory),
		"a long body in memory":    request("POST", "http://upstream/", long, inMemory),
		"an unsized body":          request("PUT", "http://upstream/", "{}", unsized),
		"a long unsized body":      request("PATCH", "http://upstream/", long, unsized),
		"chunks although sized":    request("POST", "http://upstream/", "{}", func(r *http.Request) { r.TransferEncoding = []string{"chunked"} }),
		"another host":             request("POST", "http://upstream/", "{}", func(r *http.Request) { r.Host = "api.example.com" }),
		"closing":                  request("POST", "http://upstream/", "{}", func(r *http.Request) { r.Close = true }),
		"closing by header":        request("POST", "http://upstream/", "{}", set("Connection", "close")),
		"fields":                   request("POST", "http://upstream/", "{}", set("X-A", "1", " 2 "), set("x-b", "\tä"), set("X-Empty", "")),
		"an agent":                 request("POST", "http://upstream/", "{}", set("User-Agent", "me/1")),
		"two agents":               request("POST", "http://upstream/", "{}", set("User-Agent", "me/1", "you/2")),
		"an empty agent":           request("POST", "http://upstream/", "{}", set("User-Agent", "")),
		"no agent at all":          request("POST", "http://upstream/", "{}", set("User-Agent")),
		"fields that are not sent": request("POST", "http://upstream/", "{}", set("Content-Length", "7"), set("Host", "x"), set("Transfer-Encoding", "chunked"), set("Trailer", "X")),
		"an encoding":              request("POST", "http://upstream/", "{}", set("Accept-Encoding", "br")),
		"an empty Body":            request("POST", "http://upstream/", "", func(r *http.Request) { r.Body = http.NoBody }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want, wantErr := receive(t, make, func(s *server) http.RoundTripper { return s.theirs(t) })
				got, err := receive(t, make, func(s *server) http.RoundTripper { return s.ours(t) })
				if err != nil || wantErr != nil {
					t.Fatalf("got %v, want %v", err, wantErr)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("\n got %.500v\nwant %.500v", got, want)
				}
			})
		})
	}
}

func TestTransport_InvalidRequestsAreNotSent(t *testing.T) {
	for name, make := range map[string]func(context.Context) *http.Request{
		"a method with a space":       request("POST", "http://upstream/", "{}", func(r *http.Request) { r.Method = "PO ST" }),
		"a line in a value":           request("POST", "http://upstream/", "{}", set("X-A", "1\r\nX-B: 2")),
		"a bare line feed":            request("POST", "http://upstream/", "{}", set("X-A", "1\nX-B: 2")),
		"a NUL":                       request("POST", "http://upstream/", "{}", set("X-A", "\x00")),
		"a colon in a name":           request("POST", "http://upstream/", "{}", set("X-A: 1\r\nX-B", "2")),
		"a name that is empty":        request("POST", "http://upstream/", "{}", set("", "2")),
		"a line in an agent":          request("POST", "http://upstream/", "{}", set("User-Agent", "a\r\nb: c")),
		"a line in the query":         request("POST", "http://upstream/", "{}", func(r *http.Request) { r.URL.RawQuery = "a\r\nb" }),
		"a space in the query":        request("POST", "http://upstream/", "{}", func(r *http.Request) { r.URL.RawQuery = "a HTTP/1.1" }),
		"a body shorter than it says": request("POST", "http://upstream/", "{}", func(r *http.Request) { r.ContentLength = 3 }),
		"a body longer than it says":  request("POST", "http://upstream/", "{}", func(r *http.Request) { r.ContentLength = 1 }),
		"a stream too short":          request("POST", "http://upstream/", long, streamed, func(r *http.Request) { r.ContentLength++ }),
		"memory too short":            request("POST", "http://upstream/", long, inMemory, func(r *http.Request) { r.ContentLength++ }),
		"a body that breaks":          request("POST", "http://upstream/", long, func(r *http.Request) { r.Body = &watched{Reader: &breaks{}} }),
		"a stream that breaks":        request("POST", "http://upstream/", long, streamed, func(r *http.Request) { r.Body = &watched{Reader: &breaks{}} }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false))
				req := make(t.Context())
				body := &watched{Reader: req.Body}
				if _, ok := req.Body.(*stored); !ok {
					req.Body = body
				}
				_, err := s.ours(t).RoundTrip(req)
				if err == nil || errors.Is(err, errFallback) || errors.Is(err, io.EOF) {
					t.Errorf("got %v", err)
				}
				if synctest.Wait(); req.Body == body && body.closed != 1 {
					t.Errorf("the body was closed %d times", body.closed)
				}
			})
		})
	}
}

// watched is a body that counts how often it is closed.
type watched struct {
	io.Reader
	closed int
}

func (w *watched) Close() error {
	w.closed++
	return nil
}

// breaks is a body that breaks off.
type breaks struct{ read int }

var errBreaks = errors.New("the body breaks off")

func (b *breaks) Read(p []byte) (int, error) {
	if b.read++; b.read > 2 {
		return 0, errBreaks
	}
	return copy(p, "some"), nil
}

func TestTransport_RareRequestsGoToTheFallback(t *testing.T) {
	for name, make := range map[string]func(context.Context) *http.Request{
		"https":               request("POST", "https://upstream/", "{}"),
		"another scheme":      request("POST", "ftp://upstream/", "{}"),
		"no host":             request("POST", "http:///", "{}"),
		"an upgrade":          request("GET", "http://upstream/", "", set("Upgrade", "websocket"), set("Connection", "upgrade")),
		"CONNECT":             request("CONNECT", "http://upstream/", ""),
		"trailers":            request("POST", "http://upstream/", "{}", func(r *http.Request) { r.Trailer = http.Header{"X-A": nil} }),
		"a name beyond ASCII": request("POST", "http://bücher.example/", "{}"),
		"a zone":              request("POST", "http://[fe80::1%25en0]/", "{}"),
		"a host of another":   request("POST", "http://upstream/", "{}", func(r *http.Request) { r.Host = "a b" }),
		"an opaque URL":       request("POST", "http://upstream/", "{}", func(r *http.Request) { r.URL.Opaque = "//upstream/x" }),
		"an odd coding":       request("POST", "http://upstream/", "{}", func(r *http.Request) { r.TransferEncoding = []string{"identity"} }),
		"GET, perhaps a body": request("GET", "http://upstream/", "{}", unsized),
		//lint:ignore SA1019 an http.Client with a Timeout still sets it
		"an old way to stop": request("GET", "http://upstream/", "", func(r *http.Request) { r.Cancel = t.Context().Done() }),
		"no header":          request("GET", "http://upstream/", "", func(r *http.Request) { r.Header = nil }),
	} {
		s := &server{}
		if _, err := s.ours(t).RoundTrip(make(t.Context())); !errors.Is(err, errFallback) {
			t.Errorf("%s: got error %v, want %v", name, err, errFallback)
		}
	}
}

// writeCounter counts the writes to a connection.
type writeCounter struct {
	net.Conn
	writes int
}

func (c *writeCounter) Write(p []byte) (int, error) {
	c.writes++
	return c.Conn.Write(p)
}

func TestTransport_SmallRequestIsOneWrite(t *testing.T) {
	for name, change := range map[string]func(*http.Request){"read": func(*http.Request) {}, "in memory": inMemory} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, says(okHi, false))
			rt, conn := s.ours(t), &writeCounter{}
			rt.Dial = func(ctx context.Context, network, addr string) (_ net.Conn, err error) {
				conn.Conn, err = s.dial(ctx, network, addr)
				return conn, err
			}
			resp, err := rt.RoundTrip(request("POST", "http://upstream/", "{}", change)(t.Context()))
			if err != nil {
				t.Fatalf("%s: round trip: %v", name, err)
			}
			_ = resp.Body.Close()
			if conn.writes != 1 {
				t.Errorf("%s: a small request took %d writes, want 1", name, conn.writes)
			}
		})
	}
}
