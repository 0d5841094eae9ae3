package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/http1"
)

const okHi = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

func TestTransport_ReusesConnections(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		dialled int // for three requests
	}{
		"after a length":       {okHi, 1},
		"after chunks":         {okChunked + "2\r\nhi\r\n0\r\n\r\n", 1},
		"after no body":        {"HTTP/1.1 204 No Content\r\n\r\n", 1},
		"not with more behind": {okHi + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 3},
		"not with a line":      {okHi + "\r\n", 3},
		"not with more, 204":   {"HTTP/1.1 204 No Content\r\n\r\nx", 3},
		"not with more chunks": {okChunked + "2\r\nhi\r\n0\r\n\r\n0\r\n\r\n", 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, says(c.text, false))
			rt := s.ours(t)
			for range 3 {
				if body, err := ask(t, rt); err != nil || body != "hi" && body != "" {
					t.Errorf("%s: got %q, %v", name, body, err)
				}
			}
			if s.dialled != c.dialled {
				t.Errorf("%s: %d connections", name, s.dialled)
			}
		})
	}
}

func TestTransport_ClosesIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 2)
		s := serve(t, func(conn net.Conn, in *bufio.Reader) {
			says(okHi, false)(conn, in)
			ended <- time.Now()
		})
		rt := s.ours(t)
		_, _ = ask(t, rt)
		time.Sleep(time.Minute)
		_, _ = ask(t, rt)
		begin := time.Now()
		time.Sleep(time.Hour)
		if idle := (<-ended).Sub(begin); s.dialled != 1 || idle != 90*time.Second {
			t.Errorf("%d connections, closed after %v", s.dialled, idle)
		}
		if body, err := ask(t, rt); body != "hi" || err != nil || s.dialled != 2 {
			t.Errorf("got %q, %v on connection %d", body, err, s.dialled)
		}
	})
}

func TestTransport_BoundsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, says(okHi, false))
		rt := s.ours(t)
		rt.IdlePerHost = 2
		var open []*http.Response
		for range 5 {
			resp, err := rt.RoundTrip(request("GET", "http://upstream/", "")(t.Context()))
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			open = append(open, resp)
		}
		for _, resp := range open {
			_ = resp.Body.Close() // what is left of it has been received
		}
		for range 2 {
			resp, err := rt.RoundTrip(request("GET", "http://upstream/", "")(t.Context()))
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			defer resp.Body.Close()
		}
		if s.dialled != 5 {
			t.Errorf("%d connections", s.dialled)
		}
		_, _ = ask(t, rt)
		if s.dialled != 6 {
			t.Errorf("%d connections", s.dialled)
		}
	})
}

// forgets answers one request on each connection and then closes it without a
// word, at the next request.
func forgets(conn net.Conn, in *bufio.Reader) {
	if reads(in) {
		_, _ = io.WriteString(conn, okHi)
		_, _ = in.Peek(1)
	}
}

// resends counts how often requests are sent again.
type resends int

func (n *resends) Resent() { *n++ }

func TestTransport_DeadPooledConnectionIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		make func(context.Context) *http.Request
		ok   bool
		sent int // again
	}{
		"no body":             {request("GET", "http://upstream/", ""), true, 1},
		"a body":              {request("POST", "http://upstream/", "{}"), true, 1},
		"a long body":         {request("POST", "http://upstream/", long), true, 1},
		"a body that is gone": {request("POST", "http://upstream/", "{}", streamed), false, 0},
		"a body that cannot be had": {request("POST", "http://upstream/", "{}", func(r *http.Request) {
			r.GetBody = func() (io.ReadCloser, error) { return nil, errBreaks }
		}), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, forgets)
				rt := s.ours(t)
				if _, err := ask(t, rt); err != nil {
					t.Fatalf("the call ended with %v", err)
				}
				var again resends
				resp, err := rt.RoundTrip(c.make(http1.WithObserver(t.Context(), &again)))
				if err == nil {
					resp.Body.Close()
				}
				if (err == nil) != c.ok || int(again) != c.sent {
					t.Errorf("got %v, sent again %d times; want an answer: %t, %d times", err, again, c.ok, c.sent)
				}
				if err != nil && classify.Of(err, time.Now()).Kind != fault.Unavailable {
					t.Errorf("%v is %v", err, classify.Of(err, time.Now()).Kind)
				}
			})
		})
	}
}

func TestTransport_SendsTwiceAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		s := serve(t, func(conn net.Conn, in *bufio.Reader) {
			for reads(in) {
				if requests++; requests > 1 {
					return
				}
				_, _ = io.WriteString(conn, okHi)
			}
		})
		rt := s.ours(t)
		_, _ = ask(t, rt)
		_, err := ask(t, rt)
		if !errors.Is(err, io.EOF) || requests != 3 {
			t.Errorf("%d requests, %v", requests, err)
		}
	})
}

func TestTransport_SendsOnceAfterAByteOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		s := serve(t, func(conn net.Conn, in *bufio.Reader) {
			for reads(in) {
				if requests++; requests > 1 {
					_, _ = io.WriteString(conn, "H")
					return
				}
				_, _ = io.WriteString(conn, okHi)
			}
		})
		rt := s.ours(t)
		_, _ = ask(t, rt)
		_, err := ask(t, rt)
		if f := classify.Of(err, time.Now()); !errors.Is(err, io.ErrUnexpectedEOF) || requests != 2 || f.Kind != fault.Unavailable {
			t.Errorf("%d requests, %v", requests, err)
		}
	})
}

func TestTransport_ErrorsAreClassified(t *testing.T) {
	for name, c := range map[string]struct {
		dial func(context.Context, string, string) (net.Conn, error)
		want error
		kind fault.Kind
	}{
		"refused": {func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}, syscall.ECONNREFUSED, fault.Unavailable},
		"silent": {func(ctx context.Context, network, _ string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: context.DeadlineExceeded}
		}, context.DeadlineExceeded, fault.UpstreamTimeout},
		"reset": {func(context.Context, string, string) (net.Conn, error) {
			a, b := net.Pipe()
			b.Close()
			return resets{a}, nil
		}, syscall.ECONNRESET, fault.Unavailable},
	} {
		_, err := ask(t, &http1.Transport{Dial: c.dial})
		if f := classify.Of(err, time.Now()); !errors.Is(err, c.want) || f.Kind != c.kind {
			t.Errorf("%s: %v is %v", name, err, f.Kind)
		}
	}
}

// resets is a connection that has been reset.
type resets struct{ net.Conn }

func (resets) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

func (resets) Write([]byte) (int, error) { // whichever is noticed first
	return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
}

func TestTransport_UsesTheFallbacksProxy(t *testing.T) {
	asked := errors.New("asked")
	for _, c := range []struct {
		proxy func(*http.Request) (*url.URL, error)
		want  error
	}{
		{nil, syscall.ECONNREFUSED},
		{func(*http.Request) (*url.URL, error) { return nil, nil }, syscall.ECONNREFUSED},
		{func(*http.Request) (*url.URL, error) { return nil, asked }, asked},
	} {
		rt := &http1.Transport{
			Fallback: &http.Transport{Proxy: c.proxy},
			Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			},
		}
		if _, err := ask(t, rt); !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

func TestBody_ReadReturnsManyChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan string)
		s := serve(t, func(conn net.Conn, in *bufio.Reader) {
			if reads(in) {
				for text := range more {
					_, _ = io.WriteString(conn, text)
				}
			}
		})
		go func() { more <- okChunked + "2\r\nab\r\n2\r\ncd\r\n" }()
		resp, err := s.ours(t).RoundTrip(request("GET", "http://upstream/", "")(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		defer resp.Body.Close()
		for _, size := range []int{5 << 10, 10} { // larger and smaller than the buffer
			for _, want := range []string{"abcd", "e", "fg", "hi"} {
				if want != "abcd" || size == 10 {
					go func() {
						more <- map[string]string{"abcd": "2\r\nab\r\n2\r\ncd\r\n", "e": "1;x\r\ne\r\n4\r\n", "fg": "fg", "hi": "hi\r\n"}[want]
					}()
				}
				p := make([]byte, size)
				n, err := resp.Body.Read(p)
				if string(p[:n]) != want || err != nil {
					t.Errorf("got %q, %v, want %q", p[:n], err, want)
				}
			}
		}
		close(more)
		if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %q, %v", rest, err)
		}
	})
}

func TestBody_LargeBodyComesWhole(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 327680\r\n\r\n" + long,
		okChunked + "50000\r\n" + long + "\r\n0\r\n\r\n",
		okChunked + strings.Repeat("10\r\n0123456789abcdef\r\n", len(long)/16) + "0\r\n\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, says(text, false))
			rt := s.ours(t)
			for range 2 {
				if body, err := ask(t, rt); body != long || err != nil {
					t.Errorf("got %d bytes, %v", len(body), err)
				}
			}
			if s.dialled != 1 {
				t.Errorf("%d connections", s.dialled)
			}
		})
	}
}

// TestTransport_ObservesNetHTTPToo is about a request that net/http sends again: one that may be repeated, on a
// connection that the server has closed.
func TestTransport_ObservesNetHTTPToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, forgets)
		for _, c := range []struct {
			key  string
			sent int
		}{{"", 0}, {"k", 1}} {
			other := &http.Transport{DialContext: s.ours(t).Dial}
			rt := &http1.Transport{Fallback: other}
			var again resends
			ask := func() error {
				req := request("POST", "http://upstream/", "{}")(http1.WithObserver(t.Context(), &again))
				req.Header.Set("Upgrade", "x") // which only net/http sends
				if c.key != "" {
					req.Header.Set("Idempotency-Key", c.key)
				}
				resp, err := rt.RoundTrip(req)
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				return err
			}
			if err := ask(); err != nil || again != 0 {
				t.Fatalf("first request: %v, sent again %d times", err, again)
			}
			if err := ask(); (err == nil) != (c.sent > 0) || int(again) != c.sent {
				t.Errorf("request with the key %q on a dead connection: %v, sent again %d times, want %d", c.key, err, again, c.sent)
			}
			other.CloseIdleConnections()
		}
	})
}
