package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/http1"
)

// sizes are bodies of every way of sending.
var sizes = map[string]func(context.Context) *http.Request{
	"short":            request("POST", "http://upstream/", "{}"),
	"short in memory":  request("POST", "http://upstream/", "{}", inMemory),
	"one block":        request("POST", "http://upstream/", long[:60<<10]),
	"many blocks":      request("POST", "http://upstream/", long),
	"in memory":        request("POST", "http://upstream/", long, inMemory),
	"streamed":         request("POST", "http://upstream/", long, streamed),
	"unsized":          request("POST", "http://upstream/", long, unsized),
	"far too large":    request("POST", "http://upstream/", strings.Repeat(long, 64)),
	"far larger still": request("POST", "http://upstream/", strings.Repeat(long, 64), inMemory),
}

// tcp serves on a real socket.
func tcp(t *testing.T, talk func(conn net.Conn, in *bufio.Reader)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	var talks sync.WaitGroup
	talks.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			talks.Go(func() {
				defer conn.Close()
				talk(conn, bufio.NewReader(conn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		talks.Wait()
	})
	return l.Addr().String()
}

// hasty answers without having read, and then waits for the client to go. It
// says that it will close: else the next request may go out on the connection
// just before it does.
func hasty(conn net.Conn, in *bufio.Reader) {
	_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno!")
	_, _ = in.Peek(1)
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	_, _ = io.Copy(io.Discard, in)
}

func TestTransport_AnswerBeforeTheRequestIsRead(t *testing.T) {
	for name, make := range sizes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, func(conn net.Conn, _ *bufio.Reader) {
					_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno!")
					time.Sleep(time.Second)
				})
				begin := time.Now()
				tooLarge(t, s.ours(t), make(t.Context()))
				if took := time.Since(begin); took > 20*time.Millisecond {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestTransport_AnswerBeforeTheRequestIsReadOverSockets(t *testing.T) {
	addr := tcp(t, hasty)
	rt := &http1.Transport{}
	t.Cleanup(rt.CloseIdleConnections)
	for name, make := range sizes {
		t.Run(name, func(t *testing.T) {
			req := make(t.Context())
			req.URL.Host = addr
			tooLarge(t, rt, req)
		})
	}
}

// tooLarge wants a whole answer with 413.
func tooLarge(t *testing.T, rt http.RoundTripper, req *http.Request) {
	t.Helper()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatalf("round trip: %v", err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "no!" || err != nil || resp.StatusCode != 413 {
		t.Errorf("%d: got %q, %v", resp.StatusCode, body, err)
	}
}

// A server that sends an answer larger than any buffer while it reads waits for
// the client to read, and the client for it.
func TestTransport_ReadsWhileItWrites(t *testing.T) {
	const rounds = 64
	for name, make := range sizes {
		if !strings.HasPrefix(name, "far") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			addr := tcp(t, func(conn net.Conn, in *bufio.Reader) {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, okChunked)
				for range rounds {
					_, _ = io.WriteString(conn, "50000\r\n"+long+"\r\n")
				}
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			})
			req := make(t.Context())
			req.URL.Host = addr
			rt := &http1.Transport{}
			t.Cleanup(rt.CloseIdleConnections)
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			defer resp.Body.Close()
			if n, err := io.Copy(io.Discard, resp.Body); n != rounds*int64(len(long)) || err != nil {
				t.Errorf("got %d bytes, %v", n, err)
			}
		})
	}
}

// converse sends a request whose body the test writes while the answer comes.
func converse(t *testing.T, s *server) (*http.Response, *io.PipeWriter) {
	t.Helper()
	out, in := io.Pipe()
	req := request("POST", "http://upstream/", "")(t.Context())
	req.Body, req.ContentLength = out, -1
	resp, err := s.ours(t).RoundTrip(req)
	if err != nil {
		t.Fatalf("round trip: %v", err)
	}
	return resp, in
}

// An answer that comes in parts while the request does: an echo.
func TestTransport_ServerMayAnswerPartByPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(conn net.Conn, in *bufio.Reader) {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			_, _ = io.Copy(conn, req.Body)
		})
		resp, in := converse(t, s)
		defer resp.Body.Close()
		for _, word := range []string{"one", "two", "three"} {
			go func() { _, _ = io.WriteString(in, word) }()
			p := make([]byte, 100)
			if n, err := resp.Body.Read(p); string(p[:n]) != word || err != nil {
				t.Errorf("got %q, %v", p[:n], err)
			}
		}
		in.Close()
		if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
			t.Errorf("got %q, %v", rest, err)
		}
	})
}

func TestTransport_BrokenRequestEndsItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(conn net.Conn, in *bufio.Reader) {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nsome")
			_, _ = io.Copy(io.Discard, req.Body)
		})
		resp, in := converse(t, s)
		defer resp.Body.Close()
		_, _ = resp.Body.Read(make([]byte, 4))
		go in.CloseWithError(errBreaks)
		if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || !errors.Is(err, errBreaks) {
			t.Errorf("got %q, %v", rest, err)
		}
	})
}

// A server may be done before the last of the request is out. The connection
// is kept if the rest follows at once, and closed if it does not.
func TestTransport_UploadMayOutliveItsAnswer(t *testing.T) {
	for stall, kept := range map[time.Duration]bool{time.Millisecond: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, func(conn net.Conn, in *bufio.Reader) {
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, okHi)
					time.Sleep(stall)
					if _, err := io.Copy(io.Discard, req.Body); err != nil {
						return
					}
				}
			})
			rt := s.ours(t)
			for range 2 {
				resp, err := rt.RoundTrip(request("POST", "http://upstream/", long)(t.Context()))
				if err != nil {
					t.Fatalf("round trip: %v", err)
				}
				if body, err := io.ReadAll(resp.Body); string(body) != "hi" || err != nil {
					t.Errorf("got %q, %v", body, err)
				}
				resp.Body.Close()
				time.Sleep(time.Second)
			}
			if (s.dialled == 1) != kept {
				t.Errorf("stalled for %v: %d connections", stall, s.dialled)
			}
			time.Sleep(3 * time.Hour)
		})
	}
}

// A body's memory must arrive as it is, however the server reads.
func TestTransport_SlowServerGetsEveryByte(t *testing.T) {
	for name, make := range sizes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got bytes.Buffer
				s := serve(t, func(conn net.Conn, in *bufio.Reader) {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					for err == nil {
						time.Sleep(30 * time.Millisecond)
						_, err = io.CopyN(&got, req.Body, 100_000)
					}
					_, _ = io.WriteString(conn, okHi)
				})
				req := make(t.Context())
				want, length := "{}", max(2, req.ContentLength)
				resp, err := s.ours(t).RoundTrip(req)
				if err != nil {
					t.Fatalf("round trip: %v", err)
				}
				resp.Body.Close()
				if length > 2 {
					want = strings.Repeat(long, int(length)/len(long)+1)[:length]
				} else if name == "unsized" {
					want = long
				}
				if got.String() != want {
					t.Errorf("got %d bytes, want %d", got.Len(), len(want))
				}
			})
		})
	}
}

func TestTransport_SocketTakesEveryByte(t *testing.T) {
	addr := tcp(t, func(conn net.Conn, in *bufio.Reader) {
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			sum := sha256.New()
			if _, err := io.Copy(sum, req.Body); err != nil {
				return
			}
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n%x", sum.Sum(nil))
		}
	})
	rt := &http1.Transport{}
	t.Cleanup(rt.CloseIdleConnections)
	texts := map[string]string{"short": "{}", "short in memory": "{}", "one block": long[:60<<10], "far too large": strings.Repeat(long, 64), "far larger still": strings.Repeat(long, 64)}
	for name, make := range sizes {
		req := make(t.Context())
		req.URL.Host = addr
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		text, other := texts[name]
		if !other {
			text = long
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
}
