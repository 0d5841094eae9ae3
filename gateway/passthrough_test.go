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
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
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
		{"GET", "/v1beta/interactions/v1_a", 4},
		{"POST", "/v1beta/interactions/v1_a/cancel", 1},
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

// `ollama run` asks for the model's details before it asks for an answer.
func TestPassThrough_OllamaRunWaitsForTheModelsDetails(t *testing.T) {
	const cli = "ollama/0.17.4 (amd64 linux) Go/go1.25.1"
	brief := policy.Patient()
	brief.MaxWait = time.Minute
	tests := []struct {
		name, path, agent string
		policy            policy.Policy
		away              time.Duration
		status            int
		least, most       time.Duration
	}{
		{"run", "/api/show", cli, policy.Patient(), 3 * time.Minute, 200, 3 * time.Minute, 3*time.Minute + 6*time.Second},
		{"run, a named upstream", "/ollama/api/show", cli, policy.Patient(), time.Minute, 200, time.Minute, time.Minute + 6*time.Second},
		{"run, for longer than it is held", "/api/show", cli, policy.Patient(), time.Hour, 502, 9 * time.Minute, 10 * time.Minute},
		{"run, a policy of a minute", "/api/show", cli, brief, time.Hour, 502, 50 * time.Second, time.Minute},
		{"run, a policy without retries", "/api/show", cli, policy.Policy{}, time.Hour, 502, 0, 5 * time.Second},
		{"list", "/api/tags", cli, policy.Patient(), time.Hour, 502, 0, 5 * time.Second},
		{"another client", "/api/show", "node", policy.Patient(), time.Hour, 502, 0, 5 * time.Second},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			g := newGateway(t, gateway.Config{Policy: tt.policy, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				if time.Since(begun) < tt.away {
					return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
				}
				return says(200, `{"capabilities":["completion"]}`)(req)
			})})
			resp, err := pass(t, inProcess(g), "POST", tt.path, "User-Agent", tt.agent)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			body, _ := io.ReadAll(resp.Body)
			took := time.Since(begun)
			if resp.StatusCode != tt.status || took < tt.least || took > tt.most {
				t.Errorf("%s: got status %d after %v, want %d after %v to %v; %s", tt.name, resp.StatusCode, took, tt.status, tt.least, tt.most, body)
			}
			if want := `{"error":"ridethrough: `; tt.status != 200 && !strings.HasPrefix(string(body), want) {
				t.Errorf("%s: got %s, want Ollama's form %s", tt.name, body, want)
			}
		})
	}
}

// passedThrough are requests of each kind that asks for no answer.
var passedThrough = []struct{ method, path, header string }{
	{"GET", "/v1/models", ""},
	{"GET", "/v1/models", "Anthropic-Version"},
	{"POST", "/v1/messages/count_tokens", ""},
	{"POST", "/v1/embeddings", ""},
	{"POST", "/v1/moderations", ""},
	{"POST", "/v1/responses/input_tokens", ""},
	{"POST", "/v1beta/models/gemini-3:countTokens", ""},
	{"POST", "/v1beta/models/gemini-3:embedContent", ""},
	{"POST", "/v2/embed", ""},
	{"POST", "/api/embed", ""},
	{"POST", "/v1/files", ""},
	{"DELETE", "/v1/files/f-1", ""},
	{"POST", "/v1/batches", ""},
}

// pass sends a request of that kind with more headers.
func pass(t *testing.T, via http.RoundTripper, method, path string, headers ...string) (*http.Response, error) {
	t.Helper()
	body := io.Reader(http.NoBody)
	if method == "POST" {
		body = strings.NewReader(`{"input":"Hi"}`)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://gateway.test"+path, body)
	if err != nil {
		t.Fatalf("NewRequestWithContext: %v", err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return via.RoundTrip(req)
}

// inProcess is a way through a handler without a connection.
func inProcess(h http.Handler) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec.Result(), nil
	}
}

func TestPassThrough_FailureIsHandedOnAsItCame(t *testing.T) {
	for _, kind := range passedThrough {
		for status, header := range map[int]string{503: "", 500: "X-Should-Retry: false", 529: "X-Should-Retry: true", 429: "Retry-After: 20", 409: "", 404: "", 400: ""} {
			synctest.Test(t, func(t *testing.T) {
				name, value, _ := strings.Cut(header, ": ")
				g := newGateway(t, gateway.Config{Base: says(status, `{"error":{"message":"later"}}`, name, value)})
				resp, _ := pass(t, inProcess(g), kind.method, kind.path, kind.header, "1")
				text, _ := io.ReadAll(resp.Body)
				for _, h := range []string{"Retry-After", "X-Should-Retry"} {
					if want := map[bool]string{true: value}[h == name]; resp.Header.Get(h) != want {
						t.Errorf("%s %s, %d: %s is %q, want the provider's %q", kind.method, kind.path, status, h, resp.Header.Get(h), want)
					}
				}
				if resp.StatusCode != status || string(text) != `{"error":{"message":"later"}}` {
					t.Errorf("%s %s: got %d %s, want the provider's %d", kind.method, kind.path, resp.StatusCode, text, status)
				}
			})
		}
	}
}

// What the SDKs of OpenAI and Anthropic survive with eight retries, of which their own schedule is here, they survive
// through the gateway, about as early, and without many more requests at the provider.
func TestPassThrough_ClientKeepsItsPatience(t *testing.T) {
	down := errors.New("connection refused")
	for _, kind := range passedThrough {
		for _, failure := range []roundTrip{says(503, "{}"), func(*http.Request) (*http.Response, error) { return nil, down }} {
			synctest.Test(t, func(t *testing.T) {
				tries, end := 0, time.Now().Add(20*time.Second)
				provider := roundTrip(func(req *http.Request) (*http.Response, error) {
					if tries++; time.Now().Before(end) {
						return failure(req)
					}
					return says(200, "{}")(req)
				})
				g := newGateway(t, gateway.Config{Base: provider})
				var took [2]time.Duration
				for i, via := range []http.RoundTripper{provider, inProcess(g)} {
					begun := time.Now()
					tries, end = 0, begun.Add(20*time.Second)
					for n, wait := 0, 500*time.Millisecond; n <= 8; n, wait = n+1, min(2*wait, 8*time.Second) {
						resp, err := pass(t, via, kind.method, kind.path, kind.header, "1", "X-Stainless-Retry-Count", strconv.Itoa(n))
						if err == nil && resp.StatusCode == 200 {
							took[i] = time.Since(begun)
							break
						}
						if err == nil && resp.Header.Get("X-Should-Retry") == "false" {
							break
						}
						time.Sleep(wait)
					}
				}
				if took[0] == 0 || took[1] == 0 || took[1] > took[0]+4*time.Second || tries > 12 {
					t.Errorf("%s %s: answered after %v without us, and after %v with %d tries through us", kind.method, kind.path, took[0], took[1], tries)
				}
			})
		}
	}
}

// The time of the tries counts, and a client that says how long it waits has the failure before.
func TestPassThrough_RetriesForFourSecondsAtMost(t *testing.T) {
	for _, tt := range []struct {
		each          time.Duration
		header, value string
		tries         int
		most          time.Duration
	}{
		{0, "", "", 4, 4 * time.Second},
		{1500 * time.Millisecond, "", "", 2, 4 * time.Second},
		{5 * time.Second, "", "", 1, 5 * time.Second},
		{0, "X-Stainless-Timeout", "2", 2, time.Second},
		{0, "X-Server-Timeout", "2", 2, time.Second},
		{0, "X-Stainless-Timeout", "600", 4, 4 * time.Second},
		{0, "X-Stainless-Retry-Count", "1", 1, 0},
	} {
		for _, fail := range []roundTrip{says(503, "{}"), func(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }} {
			synctest.Test(t, func(t *testing.T) {
				tries, begun := 0, time.Now()
				g := newGateway(t, gateway.Config{Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					tries++
					time.Sleep(tt.each)
					return fail(req)
				})})
				resp, _ := pass(t, inProcess(g), "POST", "/v1/embeddings", tt.header, tt.value)
				if took := time.Since(begun); tries != tt.tries || took > tt.most || resp.StatusCode < 502 {
					t.Errorf("tries of %v, %s %s: %d in %v and status %d, want %d in %v at most", tt.each, tt.header, tt.value, tries, took, resp.StatusCode, tt.tries, tt.most)
				}
			})
		}
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

// While a server is away, the gateway answers in the form that the client of the path reads.
func TestPassThrough_ErrorsHaveTheFormOfThePath(t *testing.T) {
	const anthropic, openai, ollama = `{"type":"error","error":{"type":"`, `{"error":{"message":"`, `{"error":"ridethrough: `
	down := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	for _, tt := range []struct{ method, path, header, want string }{
		{"POST", "/api/show", "", ollama},
		{"GET", "/api/tags", "", ollama},
		{"GET", "/api/ps", "", ollama},
		{"GET", "/api/version", "", ollama},
		{"POST", "/api/embed", "", ollama},
		{"GET", "/ollama/v1/models", "", openai},
		{"POST", "/openai/api/show", "", ollama},
		{"POST", "/v1/messages/count_tokens", "", anthropic},
		{"GET", "/v1/models", "Anthropic-Version", anthropic},
		{"GET", "/anthropic/v1/models", "", anthropic},
		{"GET", "/v1/models", "", openai},
		{"TRACE", "/api/show", "", ollama},
		{"GET", "/nowhere/api/tags", "", ollama},
		{"POST", "/nowhere/v1/messages/count_tokens", "", anthropic},
		{"GET", "/nowhere/v1/models", "", openai},
	} {
		synctest.Test(t, func(t *testing.T) {
			resp, err := pass(t, inProcess(newGateway(t, gateway.Config{Base: down})), tt.method, tt.path, tt.header, "2023-06-01")
			if err != nil {
				t.Fatalf("%s %s: %v", tt.method, tt.path, err)
			}
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode < 400 || !strings.HasPrefix(string(text), tt.want) {
				t.Errorf("%s %s: got %d %s, want an error that begins with %s", tt.method, tt.path, resp.StatusCode, text, tt.want)
			}
		})
	}
}
