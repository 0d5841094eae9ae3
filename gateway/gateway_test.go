package gateway_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

const (
	claude = `{"model":"claude-sonnet","max_tokens":64,"messages":[{"role":"user","content":"Hi"}],"stream":true}`
	gpt    = `{"model":"gpt-5","messages":[{"role":"user","content":"Hi"}],"stream":true}`
)

// whole makes a request that does not stream.
func whole(body string) string { return strings.Replace(body, "true", "false", 1) }

// harness is a client, a gateway and a provider, all in memory.
type harness struct {
	*http.Client
	t        *testing.T
	provider *simulator.Provider
	gateway  *gateway.Gateway
	mu       sync.Mutex
	all      []gateway.Event
	events   []turn.Event // of faults and what follows them
	begun    time.Time
}

// newHarness starts everything inside the test's bubble and ends it with the test.
func newHarness(t *testing.T, p policy.Policy, script simulator.Script) *harness {
	provider := simulator.New(script)
	w := newHarnessOf(t, p, provider.Transport())
	w.provider = provider
	t.Cleanup(func() { _ = provider.Close() })
	return w
}

// newHarnessOf is newHarness with another provider.
func newHarnessOf(t *testing.T, p policy.Policy, base http.RoundTripper) *harness {
	upstream := address("provider.test")
	return newHarnessWith(t, gateway.Config{Upstreams: everything(upstream), Policy: p, Base: base})
}

// newHarnessWith returns a harness with another configuration and no provider of
// its own.
func newHarnessWith(t *testing.T, c gateway.Config) *harness {
	return newHarnessIn(t, t.Context(), c)
}

// newHarnessIn is newHarnessWith for requests that are served in a context.
func newHarnessIn(t *testing.T, ctx context.Context, c gateway.Config) *harness {
	w := &harness{t: t, begun: time.Now()}
	c.OnEvent = w.watch
	w.gateway = newGateway(t, c)
	pipe := simulator.NewPipe()
	server := &http.Server{Handler: w.gateway, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }}
	done := make(chan struct{})
	go func() { _ = server.Serve(pipe); close(done) }()
	transport := &http.Transport{DialContext: pipe.DialContext, DisableCompression: true}
	w.Client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
		time.Sleep(time.Second) // net/http lingers half of that on a connection that it has cut
	})
	return w
}

// watch keeps the events.
func (w *harness) watch(e gateway.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, e)
	switch e.Event.(type) {
	case nil, turn.Start, turn.Sealed:
	default:
		w.events = append(w.events, e.Event)
	}
}

// failure returns the only event that there must be, of a failure.
func (w *harness) failure() turn.Error {
	w.t.Helper()
	if len(w.events) == 1 {
		if e, ok := w.events[0].(turn.Error); ok {
			return e
		}
	}
	w.t.Fatalf("events %+v, want one turn.Error", w.events)
	return turn.Error{}
}

// newGateway returns a gateway, whose configuration must be valid.
func newGateway(t *testing.T, c gateway.Config) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(c)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return g
}

// everything returns an upstream for each API, at one address and without limits.
func everything(base *url.URL) []gateway.Upstream {
	all := append(gateway.Defaults(), gateway.Upstream{Name: "azure", API: "azure"})
	for i := range all {
		all[i].Base = base
		all[i].Limits = &gateway.Limits{}
	}
	return all
}

// send posts a body and returns the response.
func (w *harness) ask(ctx context.Context, path, body string, headers ...string) (*http.Response, error) {
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://gateway.test"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return w.Do(req)
}

// get posts a body and reads the whole response; err is the body's end.
func (w *harness) get(path, body string, headers ...string) (resp *http.Response, text string, err error) {
	w.t.Helper()
	resp, err = w.ask(w.t.Context(), path, body, headers...)
	if err != nil {
		w.t.Fatalf("ask: %v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

// outcomes lists what the provider did to each request.
func (w *harness) outcomes() string {
	var all []string
	for _, r := range w.provider.Requests() {
		all = append(all, r.Outcome)
	}
	return strings.Join(all, " ")
}

func replies(t *testing.T, words string) []simulator.Reply {
	all, err := simulator.Parse(words)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return all
}

// apis are the requests of all APIs, streamed and whole, with the end of a whole
// stream.
var apis = []struct {
	path, body, end, wholePath, wholeBody string
	cuts                                  bool // an error behind content is followed by a cut
}{
	{"/v1/messages", claude, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "", whole(claude), false},
	{"/v1/chat/completions", gpt, "data: [DONE]\n\n", "", whole(gpt), true},
	{"/v1/responses", codex, "", "", whole(codex), false},
	{"/v1beta/models/gemini-3:streamGenerateContent?alt=sse", gemini, "", "/v1beta/models/gemini-3:generateContent", gemini, true},
	{"/v1/models/gemini-3:streamGenerateContent", gemini, "]", "/v1/models/gemini-3:generateContent", gemini, true},
	{"/api/chat", llama, "", "", strings.Replace(llama, "{", `{"stream":false,`, 1), false},
	{"/api/generate", `{"model":"llama","prompt":"Hi"}`, "", "", `{"model":"llama","prompt":"Hi","stream":false}`, false},
	{"/api/v0/chat/completions", gpt, "data: [DONE]\n\n", "", whole(gpt), true},
	{"/api/v1/chat", studio, "", "", whole(studio), true},
	{"/v2/chat", command, "data: [DONE]\n\n", "", whole(command), true},
	{vertexClaude + ":streamRawPredict", claudeOnVertex, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", vertexClaude + ":rawPredict", whole(claudeOnVertex), false},
	{vertexGemini + ":streamGenerateContent?alt=sse", gemini, "", vertexGemini + ":generateContent", gemini, true},
	{"/v1/projects/p/locations/global/endpoints/openapi/chat/completions", gpt, "data: [DONE]\n\n", "", whole(gpt), true},
	{"/openai/deployments/d/chat/completions?api-version=2024-10-21", gpt, "data: [DONE]\n\n", "", whole(gpt), true},
	{"/openai/v1/responses?api-version=preview", codex, "", "", whole(codex), false},
}

const (
	codex  = `{"model":"gpt-5","input":"Hi","stream":true}`
	llama  = `{"model":"llama","messages":[{"role":"user","content":"Hi"}]}`
	studio = `{"model":"m","input":"Hi","stream":true}`

	command        = `{"model":"command-a","messages":[{"role":"user","content":"Hi"}],"stream":true}`
	claudeOnVertex = `{"anthropic_version":"vertex-2023-10-16","max_tokens":64,"messages":[{"role":"user","content":"Hi"}],"stream":true}`
	vertexClaude   = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet@20250929"
	vertexGemini   = "/projects/p/locations/global/publishers/google/models/gemini-3"
)

func TestGateway_RetriesFaultsBeforeContent(t *testing.T) {
	faults := []string{
		"429;retry-after=7", "529", "503", "500", "refused", "reset", "error-first", "role-error",
		"cut:0", "cut:0:clean", "empty", "html", "error-200",
	}
	for _, api := range apis {
		for _, fault := range faults {
			synctest.Test(t, func(t *testing.T) {
				clean := newHarness(t, policy.Patient(), simulator.Script{})
				_, want, err := clean.get(api.path, api.body)
				if err != nil || !strings.HasSuffix(strings.TrimRight(want, "\n"), strings.TrimRight(api.end, "\n")) {
					t.Fatalf("a healthy provider gives %q, %v", want, err)
				}
				w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, fault)})
				resp, got, err := w.get(api.path, api.body)
				if err != nil || resp.StatusCode != 200 || words(got) != words(want) {
					t.Errorf("%s after %s: %d %q, %v", api.path, fault, resp.StatusCode, got, err)
				}
				if n := len(w.provider.Requests()); n != 2 || len(w.events) != 2 {
					t.Errorf("%s after %s: %d requests (%s), %d events", api.path, fault, n, w.outcomes(), len(w.events))
				}
			})
		}
	}
}

func TestGateway_RetriesUnstreamedAnswers(t *testing.T) {
	for _, api := range apis {
		for _, fault := range []string{"529", "reset", "error-200", "html", "cut:1", "cut:1:clean", "empty"} {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, fault+"*2")})
				resp, text, err := w.get(cmp.Or(api.wholePath, api.path), api.wholeBody)
				if err != nil || resp.StatusCode != 200 || !strings.Contains(text, "The provider is well again") {
					t.Errorf("%s after %s: %d %q, %v; want no error, status 200, body with \"The provider is well again\"", api.path, fault, resp.StatusCode, text, err)
				}
				if got := resp.Header.Get("X-Ridethrough-Retries"); got != "2" || resp.Header.Get("X-Ridethrough-Waited-Ms") != "15000" {
					t.Errorf("%s after %s: headers %v; want X-Ridethrough-Retries \"2\", X-Ridethrough-Waited-Ms \"15000\"", api.path, fault, resp.Header)
				}
			})
		}
	}
}

func TestGateway_CutAfterContentIsReportedNotRetried(t *testing.T) {
	for _, api := range apis {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, cut)})
				_, text, err := w.get(api.path, api.body)
				last := text[strings.LastIndex(strings.TrimSuffix(text, "\n\n"), "\n\n")+2:]
				if !strings.Contains(last, `"error"`) || !strings.Contains(last, "broke off") || len(api.end) > 1 && strings.Contains(text, api.end) {
					t.Errorf("%s, %s: ends in %q", api.path, cut, last)
				}
				if (err != nil) != api.cuts {
					t.Errorf("%s, %s: the body ends with %v", api.path, cut, err)
				}
				if n := len(w.provider.Requests()); n != 1 || w.failure().Stop != policy.Committed {
					t.Errorf("%s, %s: %d requests, events %+v", api.path, cut, n, w.events)
				}
			})
		}
	}
}

func TestGateway_ShortWholeAnswerIsNoCut(t *testing.T) {
	for _, api := range apis {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "cut:3:done")})
			if _, text, err := w.get(api.path, api.body); err != nil || !strings.HasSuffix(text, api.end) {
				t.Errorf("path %s, body %q, error %v", api.path, text, err)
			}
		})
	}
}

func TestGateway_FinalFaultsPassUnchanged(t *testing.T) {
	for _, api := range apis {
		for status := range map[string]int{"400": 400, "401": 401, "403": 403, "404": 404} {
			synctest.Test(t, func(t *testing.T) {
				script := simulator.Script{Replies: replies(t, status)}
				direct := simulator.New(script)
				defer direct.Close()
				resp, err := direct.Client().Post("http://provider.test"+api.path, "application/json", strings.NewReader(api.body))
				if err != nil {
					t.Fatalf("Client: %v", err)
				}
				want, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				direct.Client().CloseIdleConnections()

				w := newHarness(t, policy.Patient(), script)
				got, text, _ := w.get(api.path, api.body)
				if got.StatusCode != resp.StatusCode || text != string(want) || time.Since(w.begun) > time.Second {
					t.Errorf("%s: %d %q after %v, want %q", api.path, got.StatusCode, text, time.Since(w.begun), want)
				}
			})
		}
	}
}

func TestGateway_MalformedRequestPassesUnchanged(t *testing.T) {
	for _, api := range apis {
		for _, body := range []string{`{"model":`, "not JSON at all", "", `{"model":"m","stream":true,"messages":` + strings.Repeat("[", 9000)} {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Patient(), simulator.Script{})
				resp, text, err := w.get(api.path, body)
				seen := w.provider.Requests()
				if err != nil || resp.StatusCode != 400 || !strings.Contains(text, "rror") && !strings.Contains(text, "invalid request") {
					t.Errorf("path %s, status %d, body %q, error %v; want no error, status 400, body with \"rror\" or \"invalid request\"", api.path, resp.StatusCode, text, err)
				}
				if len(seen) != 1 || string(seen[0].Body) != body {
					t.Errorf("the provider saw %d requests", len(seen))
				}
			})
		}
	}
}

func TestOutgoing_KeepsBodyAndCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "529")})
		_, _, _ = w.get("/v1/messages?beta=true", claude, "X-Api-Key", "k-1", "Anthropic-Beta", "a,b",
			"Authorization", "Bearer t", "Connection", "X-Hop", "X-Hop", "1", "User-Agent", "claude-cli/2.1.329")
		for i, r := range w.provider.Requests() {
			h := r.Header
			if string(r.Body) != claude || h.Get("X-Api-Key") != "k-1" || h.Get("Authorization") != "Bearer t" ||
				h.Get("Anthropic-Beta") != "a,b" || h.Get("User-Agent") != "claude-cli/2.1.329" || h.Get("X-Hop") != "" {
				t.Errorf("try %d: %q %v", i+1, r.Body, h)
			}
		}
	})
}

func TestPassThrough_OtherEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{})
		tests := []struct {
			method, path, header string
			status               int
			contains             string
		}{
			{"GET", "/v1/models", "", 200, "gpt"},
			{"GET", "/v1/models", "Anthropic-Version", 200, "claude"},
			{"POST", "/v1/messages/count_tokens", "", 200, "input_tokens"},
			{"HEAD", "/", "", 200, ""},
			{"GET", "/", "", 200, "ridethrough"},
			{"GET", "/favicon.ico", "", 404, "anthropic"},
			{"GET", "/v1/nothing", "", 404, "error"},
		}
		for _, tt := range tests {
			body := strings.NewReader(`{"model":"m","messages":[]}`)
			if tt.method != "POST" {
				body.Reset("")
			}
			req, _ := http.NewRequestWithContext(t.Context(), tt.method, "http://gateway.test"+tt.path, body)
			if tt.header != "" {
				req.Header.Set(tt.header, "2023-06-01")
			}
			resp, err := w.Do(req)
			if err != nil {
				t.Fatalf("Do: %v", err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != tt.status || !strings.Contains(string(text), tt.contains) {
				t.Errorf("method %s, path %s, status %d, body %q", tt.method, tt.path, resp.StatusCode, text)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hosts are what answers at each host.
type hosts map[string]http.RoundTripper

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) { return h[r.URL.Host].RoundTrip(r) }

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

// Flush does nothing. Without it each part of an answer would cost an error more than on a connection.
func (r *recorder) Flush() {}

// SetReadDeadline does nothing. Without it each request would cost an error more than on a connection.
func (r *recorder) SetReadDeadline(time.Time) error { return nil }

func TestGateway_ClientLeavingEndsWaitAndRequest(t *testing.T) {
	for _, script := range []string{"529*99", "silence"} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, script)})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			resp, err := w.ask(ctx, "/v1/messages", claude)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("the client ended with %v", err)
			}
			synctest.Wait()
			before := len(w.provider.Requests())
			time.Sleep(9 * time.Hour)
			if after := len(w.provider.Requests()); after != before {
				t.Errorf("%d requests after the client had left", after-before)
			}
		})
	}
}

func TestGateway_DrainAnswersWaitingRequests(t *testing.T) {
	for _, api := range apis {
		for _, body := range []string{api.body, whole(api.body)} {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Patient(), simulator.Script{Then: simulator.Status{Code: 529}})
				time.AfterFunc(time.Hour, w.gateway.Drain)
				resp, text, err := w.get(api.path, body)
				streamed := body == api.body
				if resp.StatusCode != 200 || strings.Contains(text, "shutting down") != streamed || time.Since(w.begun) != time.Hour {
					t.Errorf("%s: %d %q after %v", api.path, resp.StatusCode, text, time.Since(w.begun))
				}
				if !streamed && err == nil {
					t.Errorf("%s: %q is taken for an answer", api.path, text)
				}
			})
		}
	}
}

// frames reads a stream and notes when each frame came.
func frames(resp *http.Response, each func(frame string)) error {
	r := bufio.NewReader(resp.Body)
	var frame strings.Builder
	for {
		line, err := r.ReadString('\n')
		frame.WriteString(line)
		if err != nil {
			return err
		}
		if line == "\n" {
			each(frame.String())
			frame.Reset()
		}
	}
}

// address is the base URL of a host.
func address(host string) *url.URL { return &url.URL{Scheme: "http", Host: host} }

// words returns an answer without its numbers and ids.
func words(answer string) string {
	answer = ids.ReplaceAllString(answer, "_")
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, answer)
}

var ids = regexp.MustCompile(`[a-z]+_[0-9a-f]+`)
