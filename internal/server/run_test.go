package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/server"
)

func TestRun_ShutdownLetsRequestsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{serve: func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(5 * time.Second)
			_, _ = io.WriteString(w, "whole")
		}}
		w := run(t, server.Config{Gateway: g})
		got := make(chan string)
		go func() {
			resp, err := w.client.Post("http://localhost/v1/messages", "application/json", strings.NewReader("{}"))
			if err != nil {
				got <- err.Error()
				return
			}
			body, _ := io.ReadAll(resp.Body)
			got <- string(body)
		}()
		events := w.read("/-/events")
		synctest.Wait()
		before := time.Now()
		w.stop()
		if e := events.next(); e.comment != "the server is shutting down" || events.next() != (event{}) {
			t.Errorf("%+v", e)
		}
		if text := <-got; text != "whole" {
			t.Errorf("answer %s", text)
		}
		if err := <-w.ended; err != nil || time.Since(before) > 6*time.Second || g.drained != 1 || g.closed != 0 {
			t.Errorf("after %v: %v, drained %d times, closed %d times", time.Since(before), err, g.drained, g.closed)
		}
	})
}

func TestRun_ClosesRequestsAfterGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		g := &fake{serve: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
			close(left)
		}}
		w := run(t, server.Config{Gateway: g, Grace: 3 * time.Second})
		go func() {
			if resp, err := w.client.Post("http://localhost/v1/messages", "application/json", strings.NewReader("{}")); err == nil {
				_ = resp.Body.Close()
			}
		}()
		synctest.Wait()
		before := time.Now()
		w.stop()
		if err := <-w.ended; err != nil || time.Since(before) != 4*time.Second || g.closed != 1 {
			t.Errorf("after %v: %v, closed %d times", time.Since(before), err, g.closed)
		}
		<-left
	})
}

func TestRun_ShutdownRefusesWithRetryAfter(t *testing.T) {
	s := server.New(server.Config{Gateway: &fake{}, Log: slog.New(slog.DiscardHandler)})
	if got := ask(s, request("GET", "/-/readyz", "")); got.Code != 200 {
		t.Errorf("readyz before: %d", got.Code)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(over, &nowhere{addr: &net.UnixAddr{}, closed: make(chan struct{})}); err != nil {
		t.Fatalf("dial: %v", err)
	}
	if got := ask(s, request("GET", "/-/readyz", "")); got.Code != 503 || got.Body.String() != "{\"status\":\"draining\"}\n" {
		t.Errorf("readyz: %d %s", got.Code, got.Body)
	}
	if got := ask(s, request("GET", "/-/livez", "")); got.Code != 200 {
		t.Errorf("livez: %d", got.Code)
	}
	if got := ask(s, request("GET", "/-/events", "")); got.Code != 503 {
		t.Errorf("events: %d", got.Code)
	}
	got := ask(s, request("POST", "/v1/messages", "{}"))
	if got.Code != 503 || got.Header().Get("Retry-After") != "1" || got.Header().Get("Connection") != "close" || !strings.Contains(got.Body.String(), "overloaded_error") {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
}

// raw opens a connection that a test writes to by hand.
func (w *testServer) raw(text string) (io.WriteCloser, *bufio.Reader) {
	w.Helper()
	conn, err := w.pipe.DialContext(w.Context(), "tcp", "")
	if err != nil {
		w.Fatalf("dial context: %v", err)
	}
	w.Cleanup(func() { _ = conn.Close() })
	go func() { _, _ = io.WriteString(conn, text) }()
	return conn, bufio.NewReader(conn)
}

func TestRun_ClosesClientsThatNeverFinish(t *testing.T) {
	for _, c := range []struct {
		name, text string
		after      time.Duration
	}{
		{"a header", "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", 10 * time.Second},
		{"a body", "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", 30 * time.Second},
		{"a body in chunks", "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &fake{serve: func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err != nil {
					w.WriteHeader(400)
				}
			}}
			_, in := run(t, server.Config{Gateway: g}).raw(c.text)
			before := time.Now()
			_, _ = io.ReadAll(in)
			if took := time.Since(before); took < c.after || took > c.after+time.Second {
				t.Errorf("%s that never ends is cut after %v, want %v", c.name, took, c.after)
			}
		})
	}
}

func TestRun_ClosesRefusedClientThatWithholdsBody(t *testing.T) {
	for name, header := range map[string]string{
		"another host":         "POST /v1/messages HTTP/1.1\r\nHost: evil.example\r\n",
		"no token":             "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n",
		"a page's origin":      "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n",
		"no token, below /-/":  "GET /-/waits HTTP/1.1\r\nHost: localhost\r\n",
		"what needs no token":  "GET /-/livez HTTP/1.1\r\nHost: localhost\r\n",
		"no address below /-/": "POST /-/zz HTTP/1.1\r\nHost: localhost\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			_, in := run(t, server.Config{Gateway: &fake{}, Token: "t"}).raw(header + "Content-Length: 100\r\n\r\n")
			before := time.Now()
			answer, _ := io.ReadAll(in)
			if took := time.Since(before); took > 31*time.Second || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
				t.Errorf("%s: after %v %q", name, took, answer)
			}
		})
	}
}

// TestRun_RestOfBodyIsNeverARequest holds where the gateway answers before it has
// read all, which net/http then leaves to us.
func TestRun_RestOfBodyIsNeverARequest(t *testing.T) {
	const next = "POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
	for _, c := range []struct {
		name, text string
		pause      time.Duration // before more comes
	}{
		{"of a chunk without a length", "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 0},
		{"of a client that was silent", "Content-Length: 1000\r\n\r\n{", 40 * time.Second},
		{"in chunks, after a silence", "Transfer-Encoding: chunked\r\n\r\n5\r\n{", 40 * time.Second},
	} {
		for _, reads := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				g := &fake{serve: func(w http.ResponseWriter, r *http.Request) {
					asked = append(asked, r.URL.Path)
					_ = http.NewResponseController(w).EnableFullDuplex()
					if reads {
						_, _ = io.ReadAll(r.Body)
					}
					w.WriteHeader(400)
				}}
				out, in := run(t, server.Config{Gateway: g}).raw("POST /v1/files HTTP/1.1\r\nHost: localhost\r\n" + c.text)
				answer := make(chan string)
				go func() {
					all, _ := io.ReadAll(in)
					answer <- string(all)
				}()
				synctest.Wait() // the first is there
				time.Sleep(c.pause)
				_, _ = io.WriteString(out, next) // the connection may be gone
				if got := <-answer; !strings.HasPrefix(got, "HTTP/1.1 400") || strings.Count(got, "HTTP/1.1") != 1 {
					t.Errorf("the rest %s, read %v: %q", c.name, reads, got)
				}
				if len(asked) != 1 {
					t.Errorf("the rest %s, read %v: asked for %q", c.name, reads, asked)
				}
			})
		}
	}
}

func TestRun_ServesSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{serve: func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			time.Sleep(time.Hour) // nothing more is due from the client: no deadline is left
			fmt.Fprintf(w, "%d bytes, %v, %v", len(body), err, r.Context().Err())
		}}
		out, in := run(t, server.Config{Gateway: g}).raw("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
		for range 10 {
			time.Sleep(25 * time.Second)
			_, _ = io.WriteString(out, "x")
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("read response: %v", err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != "10 bytes, <nil>, <nil>" {
			t.Errorf("%s", body)
		}
	})
}

func TestRun_BoundsHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, in := run(t, server.Config{Gateway: &fake{}}).raw("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 80<<10) + "\r\n\r\n")
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 431 {
			t.Errorf("response %v, error %v", resp, err)
		}
	})
}

func TestLivez_NamesFrozenLoop(t *testing.T) {
	frozen := ""
	s := server.New(server.Config{Gateway: &fake{}, Frozen: func() string { return frozen }})
	for _, tt := range []struct {
		frozen, body string
		status       int
	}{
		{"", `{"status":"ok"}`, 200},
		{"the loop has not moved for 30s", `{"status":"frozen","reason":"the loop has not moved for 30s"}`, 503},
		{"", `{"status":"ok"}`, 200},
	} {
		frozen = tt.frozen
		got := ask(s, request("GET", "/-/livez", ""))
		if got.Code != tt.status || strings.TrimSpace(got.Body.String()) != tt.body {
			t.Errorf("livez while frozen is %q: got %d %s, want %d %s", tt.frozen, got.Code, got.Body, tt.status, tt.body)
		}
	}
}
