package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/http1"
)

var errLeft = errors.New("the caller has left")

// leaveAfter returns a context that ends with errLeft.
func leaveAfter(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errLeft) })
	t.Cleanup(func() {
		timer.Stop()
		cancel(nil)
	})
	return ctx
}

func TestTransport_CancelReturnsAtOnce(t *testing.T) {
	silent := func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) }
	deaf := func(conn net.Conn, _ *bufio.Reader) { time.Sleep(time.Hour) }
	for name, c := range map[string]struct {
		talk func(net.Conn, *bufio.Reader)
		make func(context.Context) *http.Request
	}{
		"before an answer":   {silent, request("POST", "http://upstream/", "{}")},
		"inside the header":  {dribbles("HTTP/1.1 200 OK\r\n", false), request("POST", "http://upstream/", "{}")},
		"while it writes":    {deaf, request("POST", "http://upstream/", "{}")},
		"while it writes on": {deaf, request("POST", "http://upstream/", long)},
		"between 1xx":        {dribbles("HTTP/1.1 102 Processing\r\n\r\n", false), request("POST", "http://upstream/", "{}")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := serve(t, c.talk).ours(t).RoundTrip(c.make(leaveAfter(t, 10*time.Second)))
				if took := time.Since(begin); err != errLeft || took != 10*time.Second {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

func TestTransport_CancelDoesNotWaitForTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) })
		out, in := io.Pipe()
		req := request("POST", "http://upstream/", "")(leaveAfter(t, time.Second))
		req.Body, req.ContentLength = out, 5
		begin := time.Now()
		_, err := s.ours(t).RoundTrip(req)
		if took := time.Since(begin); err != errLeft || took != time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		in.Close() // the goroutine that reads it ends with it
		synctest.Wait()
	})
}

func TestTransport_CancelEndsTheDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &http1.Transport{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		}}
		req := request("POST", "http://upstream/", "{}")(leaveAfter(t, time.Second))
		body := &watched{Reader: req.Body}
		req.Body = body
		for range 2 { // the second time its context has ended before
			if _, err := rt.RoundTrip(req); err != errLeft {
				t.Errorf("got %v", err)
			}
		}
		if body.closed != 2 {
			t.Errorf("the body was closed %d times", body.closed)
		}
	})
}

func TestTransport_CancelEndsTheBody(t *testing.T) {
	for _, text := range []string{"HTTP/1.1 200 OK\r\n\r\nhi", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", okChunked + "2\r\nhi\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, says(text, false))
			resp, err := s.ours(t).RoundTrip(request("GET", "http://upstream/", "")(leaveAfter(t, time.Second)))
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			defer resp.Body.Close()
			for range 2 { // it says so again
				if body, err := io.ReadAll(resp.Body); err != errLeft || len(body) > 2 {
					t.Errorf("got %q, %v", body, err)
				}
			}
		})
	}
}

func TestTransport_DeadlineReturnsItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := serve(t, func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) })
		if _, err := s.ours(t).RoundTrip(request("GET", "http://upstream/", "")(ctx)); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
}

// A context may end when its connection already serves another request.
func TestTransport_LateCancelSparesTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, says(okHi, false))
		rt := s.ours(t)
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			resp, err := rt.RoundTrip(request("GET", "http://upstream/", "")(ctx))
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			go cancel()
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
			if body, err := ask(t, rt); body != "hi" || err != nil {
				t.Fatalf("got %q, %v", body, err)
			}
		}
	})
}

func TestBody_CloseEndsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, says(okChunked+"2\r\nhi\r\n", false))
		resp, err := s.ours(t).RoundTrip(request("GET", "http://upstream/", "")(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		time.AfterFunc(time.Second, func() { _ = resp.Body.Close() })
		body, err := io.ReadAll(resp.Body)
		if string(body) != "hi" || err != http.ErrBodyReadAfterClose {
			t.Errorf("got %q, %v", body, err)
		}
		if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err != http.ErrBodyReadAfterClose || resp.Body.Close() != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

func TestBody_EarlyCloseKeepsTheConnectionIfTheRestIsThere(t *testing.T) {
	for text, kept := range map[string]bool{
		okHi:                               true,
		okChunked + "2\r\nhi\r\n0\r\n\r\n": true,
		okChunked + "2\r\nhi\r\n0\r\n":     false,
		okChunked + "2\r\nhi\r\nx":         false,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi":                false,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi":                false,
		"HTTP/1.1 200 OK\r\n\r\nhi":                                     false,
		"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi":                false,
		"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + long[:5000]: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, says(text, false))
			rt := s.ours(t)
			for range 2 {
				resp, err := rt.RoundTrip(request("GET", "http://upstream/", "")(t.Context()))
				if err != nil {
					t.Fatalf("round trip: %v", err)
				}
				if err := resp.Body.Close(); err != nil {
					t.Errorf("close the body: %v", err)
				}
			}
			if (s.dialled == 1) != kept {
				t.Errorf("%.80q: %d connections", text, s.dialled)
			}
		})
	}
}

// watchedContext is a context that counts what is registered at it.
type watchedContext struct {
	context.Context
	registered, stopped int
}

func (w *watchedContext) AfterFunc(f func()) (stop func() bool) {
	w.registered++
	unlink := context.AfterFunc(w.Context, f)
	return func() bool { w.stopped++; return unlink() }
}

func TestTransport_CancelByAContextsOwnAfterFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := &watchedContext{Context: leaveAfter(t, 10*time.Second)}
		s := serve(t, func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) })
		_, err := s.ours(t).RoundTrip(request("POST", "http://upstream/", "{}")(ctx))
		if err != errLeft || ctx.registered != 1 || ctx.stopped != 1 {
			t.Errorf("got %v, registered %d times, stopped %d, want %v, 1, 1", err, ctx.registered, ctx.stopped, errLeft)
		}
	})
}
