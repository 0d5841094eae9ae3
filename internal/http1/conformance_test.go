package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/internal/http1"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// server answers each connection on a pipe with a function of its own making.
type server struct {
	*simulator.Pipe
	dialled int
}

// serve starts a server inside a bubble. It ends with its connections.
func serve(t *testing.T, talk func(conn net.Conn, in *bufio.Reader)) *server {
	s := &server{Pipe: simulator.NewPipe()}
	var talks sync.WaitGroup
	t.Cleanup(func() {
		s.Close()
		talks.Wait()
	})
	talks.Go(func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			talks.Go(func() {
				defer conn.Close()
				talk(conn, bufio.NewReader(conn))
			})
		}
	})
	return s
}

func (s *server) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	s.dialled++
	return s.DialContext(ctx, network, addr)
}

func (s *server) ours(t *testing.T) *http1.Transport {
	rt := &http1.Transport{Dial: s.dial, Fallback: refuse{}}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

func (s *server) theirs(t *testing.T) *http.Transport {
	rt := &http.Transport{DialContext: s.dial, DisableCompression: true}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

// refuse is a Fallback for requests that must not get there.
type refuse struct{}

var errFallback = errors.New("it was left to the fallback")

func (refuse) RoundTrip(*http.Request) (*http.Response, error) { return nil, errFallback }

// reads reads a request whole; false: there is none left.
func reads(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// says returns a server that answers each request with the text, and then closes
// the connection if it is to.
func says(text string, closes bool) func(net.Conn, *bufio.Reader) {
	return func(conn net.Conn, in *bufio.Reader) {
		for reads(in) {
			if _, err := io.WriteString(conn, text); err != nil || closes {
				return
			}
		}
	}
}

// outcome is what a caller can see of an answer.
type outcome struct {
	Failed           bool
	Status, Proto    string
	Code             int
	Header           http.Header
	Length           int64
	Coding           []string
	Close            bool
	Body             string
	Cut, Uncompleted bool // the body ended in io.ErrUnexpectedEOF, or in another error
	Dialled          int  // connections for two requests
}

// observe sends a request twice and tells what became of the second.
func (s *server) observe(t *testing.T, rt http.RoundTripper, method string) outcome {
	s.dialled = 0
	var o outcome
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://upstream/v1", strings.NewReader("{}"))
		if err != nil {
			t.Fatalf("new request: %v", err)
		}
		resp, err := rt.RoundTrip(req)
		if o.Failed = err != nil; o.Failed {
			return outcome{Failed: true}
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		synctest.Wait()
		o = outcome{
			Status: resp.Status, Proto: resp.Proto, Code: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength,
			Coding: resp.TransferEncoding, Close: resp.Close, Body: string(body),
			Cut: errors.Is(err, io.ErrUnexpectedEOF), Uncompleted: err != nil, Dialled: s.dialled,
		}
	}
	return o
}

// After these a connection is closed because it is over.
const closing = true

var answers = []struct {
	name, method, text string
	closes             bool
}{
	{"a length", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello", false},
	{"no body", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false},
	{"no reason", "POST", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", false},
	{"an odd status", "POST", "HTTP/1.1 999 Strange but true\r\nContent-Length: 2\r\n\r\nhi", false},
	{"names in lower case", "POST", "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ndate: now\r\nx-odd-one: ä\r\ncontent-length: 2\r\n\r\nhi", false},
	{"spaces around a value", "POST", "HTTP/1.1 200 OK\r\nX-A:\t a b \t\r\nX-Empty:\r\nContent-Length:  2 \r\n\r\nhi", false},
	{"bare line feeds", "POST", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false},
	{"chunks", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b;c=\"d\"\r\n world\r\n0\r\n\r\n", false},
	{"chunks in capitals", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n00A\r\n0123456789\r\n0\r\n\r\n", false},
	{"no chunk", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false},
	{"padded chunk sizes", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\nhi\r\n0 \r\n\r\n", false},
	{"chunks with trailers", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n", false},
	{"until the end", "POST", "HTTP/1.1 200 OK\r\n\r\nhello", closing},
	{"until the end, 1.0", "POST", "HTTP/1.0 200 OK\r\n\r\nhello", closing},
	{"kept alive, 1.0", "POST", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", false},
	{"not kept alive, 1.0", "POST", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false},
	{"told to close", "POST", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nhi", false},
	{"closed all the same", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", closing},
	{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", false},
	{"HEAD, chunked", "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"HEAD, no length", "HEAD", "HTTP/1.1 200 OK\r\n\r\n", false},
	{"204", "POST", "HTTP/1.1 204 No Content\r\n\r\n", false},
	{"304", "POST", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false},
	{"1xx first", "POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false},
	{"an error", "POST", "HTTP/1.1 529 Overloaded\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n{}", false},
	{"cut in a length", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", closing},
	{"cut in a chunk", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhello", closing},
	{"cut between chunks", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", closing},
	{"cut in the header", "POST", "HTTP/1.1 200 OK\r\nContent-Le", closing},
	{"nothing", "POST", "", closing},
	{"no HTTP", "POST", "\x15\x03\x01\x00\x02\x02\x16\r\n\r\n", closing},
	{"another protocol", "POST", "SSH-2.0-OpenSSH_9.6\r\n\r\n", closing},
	{"a chunk without a size", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhi\r\n0\r\n\r\n", closing},
	{"a chunk size that is none", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nhi\r\n0\r\n\r\n", closing},
	{"a chunk size with a sign", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nhi\r\n0\r\n\r\n", closing},
	{"a chunk above all bounds", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000002\r\nhi\r\n0\r\n\r\n", closing},
	{"a chunk longer than it says", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n", closing},
	{"a chunk line that ends in a bare line feed", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nhi\r\n0\r\n\r\n", closing},
	{"two lengths", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", closing},
	{"a length with a sign", "POST", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi", closing},
	{"a list of lengths", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi", closing},
	{"another coding", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", closing},
	{"codings in two lines", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", closing},
	{"a line without a colon", "POST", "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\nhi", closing},
	{"a NUL in a value", "POST", "HTTP/1.1 200 OK\r\nX-A: a\x00b\r\nContent-Length: 2\r\n\r\nhi", closing},
	{"a bare carriage return in a value", "POST", "HTTP/1.1 200 OK\r\nX-A: a\rContent-Length: 2\r\n\r\nhi", closing},
	{"a status of two digits", "POST", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nhi", closing},
	{"an empty line first", "POST", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", closing},
}

func TestTransport_AnswersAreThoseOfNetHTTP(t *testing.T) {
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, says(c.text, c.closes))
				want := s.observe(t, s.theirs(t), c.method)
				if got := s.observe(t, s.ours(t), c.method); !reflect.DeepEqual(got, want) {
					t.Errorf("\n got %+v\nwant %+v", got, want)
				}
			})
		})
	}
}
