package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// tooLarge is the beginning of the refusal of a body beyond 1 MiB, as Anthropic's clients expect it.
const tooLarge = `{"type":"error","error":{"type":"request_too_large","message":"ridethrough: the request is larger than 1048576 bytes`

// bounded returns the configuration of a gateway that takes bodies of 1 MiB.
func bounded() gateway.Config {
	c := gateway.Config{Policy: policy.Patient(), Upstreams: everything(address("provider.test")), Base: says(200, messageStart+messageHi+messageStop)}
	for i := range c.Upstreams {
		limits := *c.Upstreams[i].Limits
		limits.Body = 1 << 20
		c.Upstreams[i].Limits = &limits
	}
	return c
}

// serverLog collects what net/http logs.
type serverLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// listen serves a gateway on a loopback address.
func listen(t *testing.T, c gateway.Config) *httptest.Server {
	l := new(serverLog)
	s := httptest.NewUnstartedServer(newGateway(t, c))
	s.Config.ErrorLog = log.New(l, "", 0)
	s.EnableHTTP2 = true
	t.Cleanup(func() {
		s.Close()
		if strings.Contains(l.text.String(), "panic") {
			t.Errorf("the server logs %s", l.text.String())
		}
	})
	return s
}

// endless is a body that does not say how long it is.
func endless(size int) io.Reader { return io.MultiReader(bytes.NewReader(make([]byte, size))) }

func TestRefusal_ClientThatStillSendsSeesIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(*httptest.Server)
		major int
		body  func() io.Reader
	}{
		{"HTTP/1.1", (*httptest.Server).Start, 1, func() io.Reader { return bytes.NewReader(make([]byte, 40<<20)) }},
		{"HTTP/1.1 in chunks", (*httptest.Server).Start, 1, func() io.Reader { return endless(40 << 20) }},
		{"HTTP/2", (*httptest.Server).StartTLS, 2, func() io.Reader { return bytes.NewReader(make([]byte, 40<<20)) }},
		{"HTTP/2 of unknown length", (*httptest.Server).StartTLS, 2, func() io.Reader { return endless(40 << 20) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := listen(t, bounded())
			c.start(s)
			for range 3 {
				resp, err := s.Client().Post(s.URL+"/v1/messages", "application/json", c.body())
				if err != nil {
					t.Fatalf("post: %v", err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 413 || resp.ProtoMajor != c.major || !strings.HasPrefix(string(text), tooLarge) {
					t.Errorf("%s %d: %s, error %v", resp.Proto, resp.StatusCode, text, err)
				}
			}
			resp, err := s.Client().Post(s.URL+"/v1/messages", "application/json", strings.NewReader(claude))
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("the next request: %v, error %v", resp, err)
			}
			resp.Body.Close()
		})
	}
}

// TestRefusal_ClientThatSendsAllFirstSeesIt holds for clients that read nothing until they have sent all, as most
// of those in Python do.
func TestRefusal_ClientThatSendsAllFirstSeesIt(t *testing.T) {
	s := listen(t, bounded())
	s.Start()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 40<<20)
	for sent := range 40 {
		if _, err := conn.Write(make([]byte, 1<<20)); err != nil {
			t.Fatalf("write after %d MiB: %v", sent, err)
		}
	}
	sees(t, "all is sent", bufio.NewReader(conn), 413, tooLarge)
}

// sees reads an answer after which the connection ends.
func sees(t *testing.T, what string, in *bufio.Reader, status int, text string) {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status || !resp.Close || !strings.HasPrefix(string(got), text) {
		t.Errorf("%s: %d %s, closes %v, error %v; want %d %s", what, resp.StatusCode, got, resp.Close, err, status, text)
	}
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
		t.Errorf("%s: after the answer comes %q, error %v", what, rest, err)
	}
}

// raw opens a connection to the gateway of a harness, in a bubble.
func raw(t *testing.T, c gateway.Config) (net.Conn, *bufio.Reader) {
	pipe, ended := simulator.NewPipe(), make(chan struct{})
	server := &http.Server{Handler: newGateway(t, c)}
	go func() { defer close(ended); _ = server.Serve(pipe) }()
	conn, err := pipe.DialContext(context.Background(), "tcp", "")
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = server.Close()
		<-ended
		time.Sleep(time.Second) // net/http lingers half of that on a connection that it has cut
	})
	return conn, bufio.NewReader(conn)
}

func TestRefusal_SlowClientSeesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, in := raw(t, bounded())
		answer := make(chan struct{})
		go func() { defer close(answer); sees(t, "a slow client", in, 413, tooLarge) }()
		fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 3<<20)
		for sent := range 30 {
			if _, err := conn.Write(make([]byte, 100<<10)); err != nil {
				t.Fatalf("write after %d of 30 parts: %v", sent, err)
			}
			time.Sleep(300 * time.Millisecond)
		}
		<-answer
	})
}

func TestRefusal_ClientThatGoesOnIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, in := raw(t, bounded())
		begun := time.Now()
		var sender sync.WaitGroup
		defer sender.Wait()
		sender.Go(func() {
			fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 1<<40)
			for {
				if _, err := conn.Write(make([]byte, 1<<10)); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
		_, _ = io.ReadAll(in)
		if took := time.Since(begun); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("the connection ends after %v, want 10 s", took)
		}
	})
}

func TestReceive_SlowBodyIsRefused(t *testing.T) {
	const words = `{"type":"error","error":{"type":"invalid_request_error","message":"ridethrough: the request's body is sent too slowly: only `
	for _, c := range []struct {
		name  string
		limit *gateway.Receive
		part  int           // bytes
		pause time.Duration // between two parts
		after time.Duration // 0: it is taken
	}{
		{"a byte now and then", nil, 1, 25 * time.Second, 30 * time.Second},
		{"silence", nil, 1, 31 * time.Second, 30 * time.Second},
		{"8 KiB per second", nil, 8 << 10, time.Second, 60 * time.Second},
		{"20 KiB per second", nil, 20 << 10, time.Second, 0},
		{"20 KiB per second, 10 s allowed", &gateway.Receive{Time: 10 * time.Second}, 20 << 10, time.Second, 10 * time.Second},
		{"20 KiB per second, 80 wanted", &gateway.Receive{Rate: 80 << 10}, 20 << 10, time.Second, 40 * time.Second},
		{"8 KiB per second without limits", &gateway.Receive{}, 8 << 10, time.Second, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			config := bounded()
			config.Receive = c.limit
			conn, in := raw(t, config)
			begun := time.Now()
			var sender sync.WaitGroup
			defer sender.Wait()
			sender.Go(func() {
				fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", 1<<20)
				for sent := 0; sent < 1<<20; sent += c.part {
					if _, err := conn.Write(make([]byte, min(c.part, 1<<20-sent))); err != nil {
						return
					}
					time.Sleep(c.pause)
				}
			})
			if c.after == 0 {
				sees(t, c.name, in, 200, "event: message_start")
				return
			}
			sees(t, c.name, in, 408, words)
			if took := time.Since(begun); took < c.after-3*time.Second || took > c.after+3*time.Second {
				t.Errorf("%s: refused after %v, want %v", c.name, took, c.after)
			}
		})
	}
}

// TestReceive_PassThroughMayTakeItsTime holds where the upstream is slow, not the client.
func TestReceive_PassThroughMayTakeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bounded()
		c.Base = roundTrip(func(req *http.Request) (*http.Response, error) {
			for { // an upstream that reads slowly
				if _, err := io.CopyN(io.Discard, req.Body, 1<<10); err != nil {
					break
				}
				time.Sleep(time.Second)
			}
			return says(200, "{}")(req)
		})
		conn, in := raw(t, c)
		go func() {
			fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", 1<<20)
			_, _ = conn.Write(make([]byte, 1<<20))
		}()
		sees(t, "an upload that takes 17 minutes", in, 200, "{}")
	})
}
