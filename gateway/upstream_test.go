package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

const (
	messageStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n"
	messageHi    = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
	messageStop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	messageError = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
)

// says returns a provider that answers with these bytes.
func says(status int, text string, headers ...string) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream"}}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(text)), Request: req}, nil
	}
}

// then is a provider that is overloaded twice, so that the keepalive commits, and
// then is another one.
func (f roundTrip) afterTwoFaults() roundTrip {
	n := 0
	return func(req *http.Request) (*http.Response, error) {
		if n++; n <= 2 {
			return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
		}
		return f(req)
	}
}

func TestGateway_BrokenStreamEndsWithAnError(t *testing.T) {
	text := messageStart + messageHi
	tests := []struct {
		name string
		base roundTrip
	}{
		{"with a Content-Length", says(200, text, "Content-Length", strconv.Itoa(len(text)))},
		{"inside a frame", says(200, text+messageHi[:len(messageHi)-12])},
		{"inside the terminator", says(200, text+messageStop[:len(messageStop)-5])},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarnessOf(t, policy.Patient(), tt.base)
			_, got, err := w.get("/v1/messages", claude)
			rest, ok := strings.CutPrefix(got, text)
			if err != nil || !ok || !strings.HasPrefix(rest, "event: error\ndata: {") || !strings.Contains(rest, "broke off") {
				t.Errorf("%s: got %q, error %v", tt.name, got, err)
			}
		})
	}
}

// TestGateway_WholeAnswerIsSentWithItsLength checks an answer that comes without its length, as over HTTP/2: it is
// known whole, and needs no chunks.
func TestGateway_WholeAnswerIsSentWithItsLength(t *testing.T) {
	const text = `{"type":"message","content":[{"type":"text","text":"Hi"}]}`
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessOf(t, policy.Patient(), says(200, text, "Content-Type", "application/json"))
		resp, got, err := w.get("/v1/messages", whole(claude))
		if err != nil || got != text || resp.ContentLength != int64(len(text)) || len(resp.TransferEncoding) > 0 {
			t.Errorf("answer without a length: got %q, length %d, transfer coding %q, error %v; want length %d and no coding",
				got, resp.ContentLength, resp.TransferEncoding, err, len(text))
		}
	})
}

func TestKeepalive_ForwardsOnlyTheRequestedForm(t *testing.T) {
	stream := messageStart + messageHi + messageStop
	tests := []struct {
		name   string
		base   roundTrip
		answer bool
	}{
		{"a stream", says(200, stream), true},
		{"a stream of another type", says(200, stream, "Content-Type", "text/plain"), true},
		{"a stream of that type in capitals", says(200, stream, "Content-Type", "Text/Event-Stream"), true},
		{"a coding that cannot be read", says(200, "\x0b\x02\x80", "Content-Encoding", "compress"), false},
		{"JSON", says(200, `{"type":"message","content":[]}`, "Content-Type", "application/json"), false},
		{"a redirection", says(307, "", "Location", "/elsewhere"), false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarnessOf(t, policy.Patient(), tt.base.afterTwoFaults())
			_, got, err := w.get("/v1/messages", claude)
			if err != nil || strings.HasSuffix(got, stream) != tt.answer || strings.Contains(got, "without the stream") == tt.answer {
				t.Errorf("%s: got %q, error %v", tt.name, got, err)
			}
			if _, recovered := w.events[len(w.events)-1].(turn.Recovered); recovered != tt.answer {
				t.Errorf("%s: events %+v, want turn.Recovered as the last: %v", tt.name, w.events, tt.answer)
			}
		})
	}
}

func TestGateway_ReportsProviderErrorAfterContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessOf(t, policy.Patient(), says(200, messageStart+messageHi+messageError))
		_, got, err := w.get("/v1/messages", claude)
		if err != nil || got != messageStart+messageHi+messageError {
			t.Errorf("got %q, error %v", got, err)
		}
		if e := w.failure(); e.Fault.Kind != fault.Overloaded || !e.Committed() {
			t.Errorf("event %+v, want overloaded and committed", e)
		}
	})
}

func TestGateway_ZeroPolicyReportsTheFault(t *testing.T) {
	refuses := roundTrip(func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED })
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessOf(t, policy.Policy{}, refuses)
		resp, got, err := w.get("/v1/messages", claude)
		if err != nil || resp.StatusCode != 503 || !strings.Contains(got, "no answer from anthropic at http://provider.test") {
			t.Errorf("status %d, got %q, error %v; want no error, status 503, text with \"no answer from anthropic at http://provider.test\"", resp.StatusCode, got, err)
		}
		if e := w.failure(); e.Fault.Kind != fault.Unavailable {
			t.Errorf("event %+v, want unavailable", e)
		}
	})
}

func TestGateway_CloseEndsRequestsInProgress(t *testing.T) {
	for _, reply := range []string{"silence", "529, 529, silence", "drip:1h"} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, reply)})
			time.AfterFunc(90*time.Minute, func() { w.gateway.Drain(); w.gateway.Close() })
			_, got, err := w.get("/v1/messages", claude)
			if err != nil || !strings.Contains(got, "shutting down; try again") || time.Since(w.begun) != 90*time.Minute {
				t.Errorf("%s: %q, %v after %v", reply, got, err, time.Since(w.begun))
			}
		})
	}
}

func TestGateway_NoRetryAfterDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		var w *harness
		w = newHarnessOf(t, policy.Policy{Retries: policy.Unlimited}, roundTrip(func(*http.Request) (*http.Response, error) {
			if tries++; tries == 3 {
				w.gateway.Drain()
			}
			return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
		}))
		_, _, _ = w.get("/v1/messages", whole(claude))
		if tries != 3 {
			t.Errorf("%d tries, want 3", tries)
		}
	})
}

func TestGateway_ReportsClientThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		if _, err := w.ask(ctx, "/v1/messages", whole(claude)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ask: %v", err)
		}
		synctest.Wait()
		last, ok := w.events[len(w.events)-1].(turn.Error)
		if faulty, _ := errors.AsType[*fault.Error](last.Fault.Err); !ok || !last.Left() || last.Retries != 1 || faulty == nil || faulty.Status != 529 {
			t.Errorf("last event %+v, want turn.Error of a client that left after 1 retry and HTTP 529", last)
		}
	})
}

func TestGateway_StalledClientCountsAsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		endless := roundTrip(func(req *http.Request) (*http.Response, error) {
			r, w := io.Pipe()
			context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()); close(left) })
			go func() {
				for _, err := io.WriteString(w, messageStart); err == nil; {
					_, err = io.WriteString(w, messageHi)
				}
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
		})
		w := newHarnessOf(t, policy.Patient(), endless)
		resp, err := w.ask(t.Context(), "/v1/messages", claude)
		if err != nil {
			t.Fatalf("ask: %v", err)
		}
		defer resp.Body.Close()
		<-left // or the bubble is deadlocked
		if took := time.Since(w.begun); took > 11*time.Minute {
			t.Errorf("the upstream was held for %v", took)
		}
	})
}

func TestGateway_UnreadableBodyIsRefused(t *testing.T) {
	g := newGateway(t, gateway.Config{Policy: policy.Patient()})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "/v1/messages", io.MultiReader(strings.NewReader("{"), failedReader{}))
	rec := &recorder{header: http.Header{}}
	g.ServeHTTP(rec, req)
	if rec.status != 400 {
		t.Errorf("status %d, want 400", rec.status)
	}
}

type failedReader struct{}

func (failedReader) Read([]byte) (int, error) { return 0, errors.New("malformed chunked encoding") }

func TestOutgoing_HasItsOwnConnectionHeaders(t *testing.T) {
	var seen *http.Request
	g := newGateway(t, gateway.Config{Policy: policy.Patient(), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
		seen = req
		return says(200, "{}", "Content-Type", "application/json")(req)
	})})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "/v1/messages", strings.NewReader("{}"))
	req.Close = true
	req.Header.Set("Expect", "100-continue")
	g.ServeHTTP(&recorder{header: http.Header{}}, req)
	if seen.Close || seen.Header.Get("Expect") != "" || seen.ContentLength != 2 {
		t.Errorf("sent %+v", seen)
	}
}

func TestSetup_RoutesRequestsByAPI(t *testing.T) {
	tests := []struct{ path, header, anthropic, openai, want string }{
		{"/v1/messages", "", "http://a", "http://o", "http://a/v1/messages"},
		{"/v1/messages?beta=true", "", "http://a/", "http://o", "http://a/v1/messages?beta=true"},
		{"/v1/messages", "", "http://a/v1//", "http://o", "http://a/v1/messages"},
		{"/v1/messages/count_tokens", "", "http://a/pre", "http://o", "http://a/pre/v1/messages/count_tokens"},
		{"/v1/models", "Anthropic-Version", "http://a", "http://o", "http://a/v1/models"},
		{"/v1/models", "X-Api-Key", "http://a", "http://o", "http://o/v1/models"},
		{"/v1/chat/completions", "Anthropic-Version", "http://a", "http://o", "http://o/v1/chat/completions"},
		{"/v1/chat/completions", "", "http://a", "http://o/v1", "http://o/v1/chat/completions"},
		{"/v1/chat/completions", "", "http://a", "http://o/v1/", "http://o/v1/chat/completions"},
		{"/v1/chat/completions", "", "http://a", "http://o/api/paas/v4", "http://o/api/paas/v4/chat/completions"},
		{"/v1/files/a%2Fb", "", "http://a", "http://o/x%2Fy/v1", "http://o/x%2Fy/v1/files/a%2Fb"},
		{"/v1/../etc", "", "http://a", "http://o", ""},
		{"/v1/./models", "", "http://a", "http://o", ""},
		{"/v2/models", "", "http://a", "http://o", ""},
	}
	for _, tt := range tests {
		got := ""
		a, _ := url.Parse(tt.anthropic)
		o, _ := url.Parse(tt.openai)
		g := newGateway(t, gateway.Config{
			Upstreams: []gateway.Upstream{{Name: "anthropic", API: "anthropic", Base: a}, {Name: "openai", API: "openai", Base: o}},
			Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				got = req.URL.String()
				return says(200, "{}")(req)
			}),
		})
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.test"+tt.path, strings.NewReader("{}"))
		if tt.header != "" {
			req.Header.Set(tt.header, "x")
		}
		g.ServeHTTP(&recorder{header: http.Header{}}, req)
		if got != tt.want {
			t.Errorf("%s with %q and %s, %s: %q, want %q", tt.path, tt.header, tt.anthropic, tt.openai, got, tt.want)
		}
	}
}

func TestSetup_MapsPathsToUpstreams(t *testing.T) {
	all := []gateway.Upstream{
		{Name: "claude", API: "anthropic", Base: address("claude.test")},
		{Name: "claude-2", API: "anthropic", Base: address("claude-2.test")},
		{Name: "google", API: "gemini", Base: &url.URL{Scheme: "http", Host: "google.test", Path: "/v1beta/"}},
		{Name: "router", API: "openai", Base: &url.URL{Scheme: "http", Host: "router.test", Path: "/api/v1"}},
		{Name: "local", API: "ollama", Base: &url.URL{Scheme: "http", Host: "local.test", Path: "/v1"}},
		{Name: "studio", API: "lmstudio", Base: address("studio.test")},
	}
	tests := []struct {
		method, path, header string
		of                   []gateway.Upstream
		want                 string
	}{
		{"POST", "/v1/messages", "", all, "http://claude.test/v1/messages"},
		{"POST", "/claude-2/v1/messages", "", all, "http://claude-2.test/v1/messages"},
		{"POST", "/claude/v1/messages", "", all, "http://claude.test/v1/messages"},
		{"GET", "/claude-2/v1/models", "", all, "http://claude-2.test/v1/models"},
		{"POST", "/v1/responses", "", all, "http://router.test/api/v1/responses"},
		{"POST", "/router/v1/chat/completions", "", all, "http://router.test/api/v1/chat/completions"},
		{"POST", "/v1beta/models/gemini-3:streamGenerateContent?alt=sse", "", all, "http://google.test/v1beta/models/gemini-3:streamGenerateContent?alt=sse"},
		{"POST", "/v1/models/gemini-3:generateContent", "", all, "http://google.test/v1/models/gemini-3:generateContent"},
		{"POST", "/v1/models/gemini-3:countTokens", "", all, "http://google.test/v1/models/gemini-3:countTokens"},
		{"GET", "/v1/models", "X-Goog-Api-Key", all, "http://google.test/v1/models"},
		{"GET", "/v1beta/models", "", all, "http://google.test/v1beta/models"},
		{"POST", "/api/chat", "", all, "http://local.test/api/chat"},
		{"GET", "/api/tags", "", all, "http://local.test/api/tags"},
		{"POST", "/local/v1/chat/completions", "", all, "http://local.test/v1/chat/completions"},
		{"POST", "/api/v0/chat/completions", "", all, "http://studio.test/api/v0/chat/completions"},
		{"POST", "/api/v1/chat", "", all, "http://studio.test/api/v1/chat"},
		{"POST", "/api/v1/chat/completions", "", all, "http://router.test/api/v1/chat/completions"},
		{"POST", "/api/v1/responses", "", append([]gateway.Upstream{{Name: "openai", API: "openai", Base: address("openai.test")}}, all...), "http://router.test/api/v1/responses"},
		{"POST", "/api/v1/messages", "", all, "http://claude.test/v1/messages"},
		{"POST", "/api/v1/chat/completions", "", all[4:], "http://studio.test/v1/chat/completions"},
		{"POST", "/api/v1/chat/completions", "", all[:3], ""},
		{"GET", "/api/v1/models", "", all, "http://studio.test/api/v1/models"},
		{"POST", "/studio/v1/responses", "", all, "http://studio.test/v1/responses"},
		{"POST", "/v1/chat/completions", "", all[4:], "http://studio.test/v1/chat/completions"},
		{"POST", "/v1/chat/completions", "", all[4:5], "http://local.test/v1/chat/completions"},
		{"POST", "/v1/chat/completions", "", all[:3], ""},
		{"POST", "/elsewhere/v1/messages", "", all, ""},
		{"POST", "/claude/../v1/messages", "", all, ""},
		{"POST", "//evil.test/v1/messages", "", all, ""},
		{"GET", "/claude", "", all, ""},
	}
	for _, tt := range tests {
		got := ""
		g := newGateway(t, gateway.Config{Upstreams: tt.of, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			got = req.URL.String()
			return says(200, "{}", "Content-Type", "application/json")(req)
		})})
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, "http://gateway.test"+tt.path, strings.NewReader("{}"))
		if tt.header != "" {
			req.Header.Set(tt.header, "x")
		}
		rec := &recorder{header: http.Header{}}
		g.ServeHTTP(rec, req)
		if got != tt.want || (rec.status == 404) != (tt.want == "") {
			t.Errorf("%s %s: %q and status %d, want %q", tt.method, tt.path, got, rec.status, tt.want)
		}
	}
}

func TestGateway_RefusesALoop(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/models", "/v1/chat/completions"} {
		synctest.Test(t, func(t *testing.T) {
			var w *harness
			w = newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
				return w.Transport.RoundTrip(req)
			}))
			resp, got, err := w.get(path, claude)
			if err != nil || resp.StatusCode != 508 || !strings.Contains(got, "leads back to this gateway") {
				t.Errorf("%s: status %d, got %q, error %v; want no error, status 508, text with \"leads back to this gateway\"", path, resp.StatusCode, got, err)
			}
		})
	}
}

func TestGateway_DrainedReportsEveryFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessWith(t, gateway.Config{Upstreams: []gateway.Upstream{{
			Name: "locked", API: "anthropic", Key: func() (string, error) { return "", errors.New("no such file") },
		}}})
		w.gateway.Drain()
		resp, text, err := w.get("/v1/messages", claude)
		if err != nil || resp.StatusCode != 503 || !strings.Contains(text, "the key of the upstream locked cannot be read") {
			t.Errorf("body %q, error %v; want no error, status 503, body with \"the key of the upstream locked cannot be read\"", text, err)
		}
	})
}

// What gateways tell each other goes to an upstream that is one, or may be: no provider at its own address, and none that
// has answered without a sign of a gateway.
func TestGateway_TellsProvidersNothingThatIsForGateways(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/batches"} {
		for _, tt := range []struct {
			name string
			base *url.URL
			call string // that the upstream answers with
			want []bool // for requests in a row
		}{
			{"a provider's own address", nil, "", []bool{false, false}},
			{"another address", address("house.test"), "", []bool{true, path == "/v1/messages/batches"}},
			{"a gateway at another address", address("house.test"), "7", []bool{true, true}},
		} {
			synctest.Test(t, func(t *testing.T) {
				var seen []bool
				base := roundTrip(func(req *http.Request) (*http.Response, error) {
					told := false
					for name := range req.Header {
						told = told || strings.HasPrefix(name, "X-Ridethrough-")
					}
					seen = append(seen, told)
					resp, err := says(200, "{}")(req)
					if tt.call != "" {
						resp.Header.Set("X-Ridethrough-Call", tt.call)
					}
					return resp, err
				})
				w := newHarnessWith(t, gateway.Config{Base: base, Upstreams: []gateway.Upstream{{Name: "anthropic", API: "anthropic", Base: tt.base}}})
				for range tt.want {
					_, _, _ = w.get(path, claude)
				}
				if !slices.Equal(seen, tt.want) {
					t.Errorf("%s, %s: requests with headers for gateways: %v, want %v", path, tt.name, seen, tt.want)
				}
			})
		}
	}
}
