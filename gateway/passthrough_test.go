package gateway_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

func TestPassThrough_BoundedRetriesThenTheUpstreamsAnswer(t *testing.T) {
	tests := []struct {
		method, path string
		tries        int
	}{
		{"GET", "/v1/models", 4},
		{"HEAD", "/v1/models", 4},
		{"POST", "/v1/messages/count_tokens", 4},
		{"POST", "/v1/embeddings", 4},
		{"POST", "/v1beta/models/gemini-3:countTokens", 4},
		{"POST", "/api/embed", 4},
		{"GET", "/api/tags", 4},
		{"POST", "/v1/files", 1},
		{"DELETE", "/v1/files/f-1", 1},
		{"POST", "/v1/batches", 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			tries, begun := 0, time.Now()
			g := newGateway(t, gateway.Config{Policy: policy.Patient(), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				tries++
				if tt.method == "POST" {
					if body, _ := io.ReadAll(req.Body); string(body) != `{"input":"Hi"}` {
						t.Errorf("%s: try %d has the body %q", tt.path, tries, body)
					}
				}
				return says(503, `{"error":{"message":"later"}}`, "X-Own", "yes")(req)
			})})
			body := io.Reader(http.NoBody)
			if tt.method == "POST" {
				body = strings.NewReader(`{"input":"Hi"}`)
			}
			req, _ := http.NewRequestWithContext(t.Context(), tt.method, "http://gateway.test"+tt.path, body)
			rec := &recorder{header: http.Header{}}
			g.ServeHTTP(rec, req)
			if tries != tt.tries || rec.status != 503 || rec.header.Get("X-Own") != "yes" || time.Since(begun) > 5*time.Second {
				t.Errorf("%s %s: %d tries, status %d %v after %v", tt.method, tt.path, tries, rec.status, rec.header, time.Since(begun))
			}
		})
	}
}

func TestPassThrough_LongHintIsNotObeyed(t *testing.T) {
	for hint, tries := range map[string]int{"3": 2, "5": 1} {
		synctest.Test(t, func(t *testing.T) {
			sent, begun := 0, time.Now()
			g := newGateway(t, gateway.Config{Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				sent++
				return says(429, "{}", "Retry-After", hint)(req)
			})})
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://gateway.test/v1/models", nil)
			rec := &recorder{header: http.Header{}}
			g.ServeHTTP(rec, req)
			if sent != tries || rec.status != 429 || time.Since(begun) > 4*time.Second+200*time.Millisecond {
				t.Errorf("%s s: %d tries, status %d after %v", hint, sent, rec.status, time.Since(begun))
			}
		})
	}
}

// An upstream that answers before it has read the request costs the client no connection, on an http.Server that has
// nothing else in front of the gateway.
func TestPassThrough_AnswerBeforeTheBodyKeepsTheConnection(t *testing.T) {
	for name, body := range map[string]string{"a small body": claude, "a body of a megabyte": strings.Repeat(claude, 1<<20/len(claude))} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarnessWith(t, gateway.Config{
				Policy: policy.Patient(), Upstreams: everything(address("provider.test")),
				Base: says(http.StatusUnauthorized, "{}", "Content-Type", "application/json"),
			})
			reused := false
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
			for _, again := range []bool{false, true} {
				resp, err := w.ask(ctx, "/v1/files", body)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				synctest.Wait()
				if resp.StatusCode != http.StatusUnauthorized || reused != again {
					t.Errorf("%s: status %d on a connection that was used before: %v, want 401 and %v", name, resp.StatusCode, reused, again)
				}
			}
		})
	}
}

func TestPassThrough_UpgradedConnection(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("NewResponseController: %v", err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		line, _ := buf.ReadString('\n')
		_, _ = io.WriteString(conn, "echo "+line)
	}))
	defer upstream.Close()
	base, _ := url.Parse(upstream.URL)
	server := httptest.NewServer(newGateway(t, gateway.Config{Policy: policy.Patient(), Upstreams: everything(base)}))
	defer server.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /v1/realtime?model=m HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("response %v, error %v; want no error, status 101", resp, err)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, err := r.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestGateway_ProxiesOnlyToConfiguredUpstreams(t *testing.T) {
	g := newGateway(t, gateway.Config{Base: roundTrip(func(req *http.Request) (*http.Response, error) {
		t.Errorf("sent to %s", req.URL)
		return says(200, "{}")(req)
	}), Upstreams: []gateway.Upstream{{Name: "local", API: "ollama"}}})
	for _, target := range []string{"http://evil.test/v1/messages", "/v1/messages", "/http://evil.test/v1/messages", "/-/waits", "/evil/api/chat"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", target, strings.NewReader("{}"))
		if err != nil {
			t.Fatalf("NewRequestWithContext: %v", err)
		}
		rec := &recorder{header: http.Header{}}
		g.ServeHTTP(rec, req)
		if rec.status != 404 {
			t.Errorf("%s: status %d, want 404", target, rec.status)
		}
	}
}

func TestPassThrough_RefusedRequestIsConsumed(t *testing.T) {
	g := newGateway(t, gateway.Config{Upstreams: []gateway.Upstream{{
		Name: "locked", API: "openai", Key: func() (string, error) { return "", errors.New("no such file") },
	}}})
	body := &counted{ReadCloser: io.NopCloser(strings.NewReader("a file")), open: new(atomic.Int64)}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.test/v1/files", body)
	rec := &recorder{header: http.Header{}}
	if g.ServeHTTP(rec, req); rec.status != 401 || body.open.Load() != -1 {
		t.Errorf("%d, and the server has %d bodies to close", rec.status, 1+body.open.Load())
	}
}
