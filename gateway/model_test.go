package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/klauspost/compress/zstd"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/api/registry"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// sent is a request that has reached a provider.
type sent struct {
	host, path, model, body string
	header                  http.Header
	at                      time.Time
}

// models is a provider that answers by the model of a request. It keeps the requests.
type models struct {
	t      *testing.T
	answer map[string]roundTrip // by model
	mu     sync.Mutex
	sent   []sent
}

// RoundTrip implements http.RoundTripper.
func (m *models) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil || int64(len(body)) != req.ContentLength {
		m.t.Errorf("%s: %d bytes of %d announced, %v", req.URL.Path, len(body), req.ContentLength, err)
	}
	at := registry.Of(req.Method, req.URL.Path).ModelInPath(req.URL.Path)
	model := req.URL.Path[at.Begin:at.End]
	var named struct{ Model string }
	if json.Unmarshal(body, &named) == nil && named.Model != "" {
		model = named.Model
	}
	m.mu.Lock()
	m.sent = append(m.sent, sent{req.URL.Host, req.URL.EscapedPath(), model, string(body), req.Header, time.Now()})
	m.mu.Unlock()
	if m.answer[model] == nil {
		return says(503, `{"error":{"message":"The server is overloaded"}}`, "Content-Type", "application/json")(req)
	}
	return m.answer[model](req)
}

// asked lists the models that were asked for.
func (m *models) asked() (names []string) {
	for _, s := range m.sent {
		names = append(names, s.model)
	}
	return names
}

// newModels returns a gateway whose upstream has these fallbacks, with its provider.
func newModels(t *testing.T, api string, answer map[string]roundTrip, chain ...gateway.Fallback) (*harness, *models) {
	m := &models{t: t, answer: answer}
	h := newHarnessWith(t, gateway.Config{
		Policy: policy.Interactive(), Base: m,
		Upstreams: []gateway.Upstream{{Name: "one", API: api, Base: address("one.test"), Fallback: chain}},
	})
	return h, m
}

// busy are the faults for which these fallbacks are asked at once.
var busy = fault.Set(0).With(fault.Overloaded)

// answers is a provider's answer to any request, in no API's form.
var answers = says(200, `{"id":"1","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"content":[{"type":"text","text":"Hi"}]}`, "Content-Type", "application/json")

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func zstandard(s string) string {
	w, _ := zstd.NewWriter(nil)
	defer w.Close()
	return string(w.EncodeAll([]byte(s), nil))
}

func TestFailover_AsksForItsModel(t *testing.T) {
	const chat, gemini = "/v1/chat/completions", "/v1beta/models/large:generateContent"
	tests := []struct{ name, api, path, coding, body, wantPath, want string }{
		{"chat", "openai", chat, "", `{"messages":[{"model":"large"}], "model" : "large"}`, chat, `{"messages":[{"model":"large"}], "model" : "small"}`},
		{"responses", "openai", "/v1/responses", "", `{"model":"large","input":"Hi"}`, "/v1/responses", `{"model":"small","input":"Hi"}`},
		{"two of them", "openai", chat, "", `{"model":"large","model":"large"}`, chat, `{"model":"small","model":"small"}`},
		{"escaped", "openai", chat, "", `{"mod\u0065l":"large"}`, chat, `{"mod\u0065l":"small"}`},
		{"none named", "openai", chat, "", `{"messages":[]}`, chat, `{"model":"small","messages":[]}`},
		{"gzip", "openai", chat, "gzip", gzipped(`{"model":"large"}`), chat, `{"model":"small"}`},
		{"zstd", "openai", "/v1/responses", "zstd", zstandard(`{"model":"large"}`), "/v1/responses", `{"model":"small"}`},
		{"anthropic", "anthropic", "/v1/messages", "", `{"model":"large","max_tokens":5}`, "/v1/messages", `{"model":"small","max_tokens":5}`},
		{"ollama", "ollama", "/api/chat", "", `{"model":"large","stream":false}`, "/api/chat", `{"model":"small","stream":false}`},
		{"gemini", "gemini", gemini, "", `{"contents":[]}`, "/v1beta/models/small:generateContent", `{"contents":[]}`},
		{"gemini, escaped", "gemini", "/v1beta/models/large%3AgenerateContent", "", `{}`, "/v1beta/models/small:generateContent", `{}`},
		{"gemini, code assist", "gemini", "/v1internal:generateContent", "", `{"model":"large"}`, "/v1internal:generateContent", `{"model":"small"}`},
		{"bedrock", "bedrock", "/model/large/invoke", "", `{"max_tokens":5}`, "/model/small/invoke", `{"max_tokens":5}`},
		{"named upstream", "openai", "/one/v1/chat/completions", "", `{"model":"large"}`, chat, `{"model":"small"}`},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w, m := newModels(t, tt.api, map[string]roundTrip{"small": answers}, gateway.Fallback{To: "one", Model: "small", Kinds: busy})
			resp, text, err := w.get(tt.path, tt.body, "Content-Encoding", tt.coding)
			if err != nil || resp.StatusCode != 200 || len(m.sent) != 2 {
				t.Fatalf("%s: status %d, %q, %v after %d requests", tt.name, resp.StatusCode, text, err, len(m.sent))
			}
			if first, second := m.sent[0], m.sent[1]; first.body != tt.body || second.body != tt.want || second.path != tt.wantPath {
				t.Errorf("%s: sent %q, then %s %q; want %q, then %s %q", tt.name, first.body, second.path, second.body, tt.body, tt.wantPath, tt.want)
			}
			if got := m.sent[1].header.Get("Content-Encoding"); got != "" {
				t.Errorf("%s: the fallback's body has the coding %q", tt.name, got)
			}
		})
	}
}

func TestFailover_ModelOfALargeBody(t *testing.T) {
	const block = 64 << 10
	places := []int{block - 12, block - 9, block - 4, block, 5<<20 + 3}
	if testing.Short() {
		places = places[:4]
	}
	for _, at := range places {
		synctest.Test(t, func(t *testing.T) {
			w, m := newModels(t, "openai", map[string]roundTrip{"a-model-with-a-longer-name": answers},
				gateway.Fallback{To: "one", Model: "a-model-with-a-longer-name", Kinds: busy})
			body := func(model string) string {
				return `{"x":"` + strings.Repeat("x", at-8) + `","model":"` + model + `","y":"` + strings.Repeat("y", 2*block) + `"}`
			}
			resp, _, err := w.get("/v1/chat/completions", body("large"))
			if err != nil || resp.StatusCode != 200 || len(m.sent) != 2 {
				t.Fatalf("at %d: status %d, %v after %d requests", at, resp.StatusCode, err, len(m.sent))
			}
			if m.sent[1].body != body("a-model-with-a-longer-name") {
				t.Errorf("at %d: %x differs in more than its model", at, sha256.Sum256([]byte(m.sent[1].body)))
			}
		})
	}
}

func TestFailover_ModelThatCannotBeReplaced(t *testing.T) {
	for _, tt := range []struct{ name, coding, body, why string }{
		{"no object", "", `["model"]`, "its body is no JSON object"},
		{"unknown coding", "br", "?", "content coding cannot be read"},
		{"damaged", "gzip", "?", "content coding cannot be read"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, m := newModels(t, "openai", nil, gateway.Fallback{To: "one", Model: "small", Kinds: busy})
			_, _, _ = w.get("/v1/chat/completions", tt.body, "Content-Encoding", tt.coding)
			for _, s := range m.sent {
				if s.body != tt.body {
					t.Errorf("%s: sent %q", tt.name, s.body)
				}
			}
			var why []string
			for _, e := range w.events {
				if e, ok := e.(turn.Switched); ok {
					why = append(why, e.From+" to "+e.To+": "+e.Why)
				}
			}
			if len(why) != 2 || !strings.Contains(why[1], tt.why) || !strings.HasPrefix(why[1], "one/small to one: ") || len(m.sent) != 11 {
				t.Errorf("%s: switched %q, %d requests; want a return because %q, and the 11 tries of the policy", tt.name, why, len(m.sent), tt.why)
			}
		})
	}
}

// TestFailover_ModelIsAccountedFor is about who is named: in the answer, in events, in waits.
func TestFailover_ModelIsAccountedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newModels(t, "openai", map[string]roundTrip{"small": answers}, gateway.Fallback{To: "one", Model: "small", After: 2500 * time.Millisecond})
		resp, _, _ := w.get("/v1/chat/completions", `{"model":"large"}`)
		if h := resp.Header; h.Get("X-Ridethrough-Upstream") != "one" || h.Get("X-Ridethrough-Model") != "small" {
			t.Errorf("headers %v, want the upstream one and the model small", h)
		}
		synctest.Wait() // its end is an event behind its last byte
		var got []string
		for _, e := range w.all {
			what := fmt.Sprintf("%T", e.Event)
			if e.Try.N > 0 {
				what = fmt.Sprintf("try %d", e.Try.N)
			}
			if s, ok := e.Event.(turn.Switched); ok {
				what = "from " + s.From + " to " + s.To + " for " + s.Name.String()
			}
			got = append(got, what+" of "+e.Call.Upstream+" "+e.Call.Model)
		}
		want := "turn.Start of one large, try 1 of one large, turn.Retry of one large, try 2 of one large, turn.Retry of one large, " +
			"from one to one/small for openai-chat/small of one small, try 3 of one small, turn.Recovered of one small, turn.Sealed of one small"
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("events: %s\nwant:   %s", got, want)
		}
	})
}

func TestFailover_SkipsTheModelThatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := newModels(t, "openai", map[string]roundTrip{"tiny": answers},
			gateway.Fallback{To: "one", Model: "small", Kinds: busy}, gateway.Fallback{To: "one", Model: "tiny", Kinds: busy})
		resp, _, _ := w.get("/v1/chat/completions", `{"model":"small"}`)
		if got := strings.Join(m.asked(), " "); resp.StatusCode != 200 || got != "small tiny" {
			t.Errorf("status %d, asked for %s; want 200, small tiny", resp.StatusCode, got)
		}
	})
}

func TestFailover_ModelThatTheFallbackRefuses(t *testing.T) {
	unknown := says(404, `{"error":{"code":"model_not_found","message":"The model small does not exist"}}`, "Content-Type", "application/json")
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w, m := newModels(t, "openai", map[string]roundTrip{"small": unknown, "large": func(req *http.Request) (*http.Response, error) {
			if time.Since(begun) < 20*time.Second {
				return says(503, `{"error":{"message":"overloaded"}}`, "Content-Type", "application/json")(req)
			}
			return answers(req)
		}}, gateway.Fallback{To: "one", Model: "small", After: 2 * time.Second})
		resp, _, _ := w.get("/v1/chat/completions", `{"model":"large"}`)
		if got := strings.Join(m.asked(), " "); resp.StatusCode != 200 || resp.Header.Get("X-Ridethrough-Model") != "" || strings.Count(got, "small") != 1 {
			t.Errorf("status %d, headers %v, asked for %s; want the first model's answer, the other asked once", resp.StatusCode, resp.Header, got)
		}
		var back string
		for _, e := range w.events {
			if e, ok := e.(turn.Switched); ok {
				back = e.From + " to " + e.To + ": " + e.Why
			}
		}
		if !strings.HasPrefix(back, "one/small to one: HTTP 404") {
			t.Errorf("the last switch is %q, want that from the model that does not exist", back)
		}
	})
}

// TestFailover_FinalFaultIsSentOnce is about requests that no other try helps: each destination is asked once,
// and the client gets the first one's own answer if no other has a better one.
func TestFailover_FinalFaultIsSentOnce(t *testing.T) {
	long := says(400, `{"error":{"code":"context_length_exceeded","message":"maximum context length is 8 tokens"}}`, "Content-Type", "application/json")
	longer := says(400, `{"error":{"code":"context_length_exceeded","message":"maximum context length is 99 tokens"}}`, "Content-Type", "application/json")
	policyFault := says(400, `{"error":{"code":"content_policy_violation","message":"rejected by our safety system"}}`, "Content-Type", "application/json")
	tooLong := gateway.Fallback{To: "one", Model: "small", Kinds: fault.Set(0).With(fault.TooLong)}
	tests := []struct {
		name         string
		large, small roundTrip
		chain        []gateway.Fallback
		asked, text  string
		status       int
	}{
		{"too long, no fallback for it", long, answers, []gateway.Fallback{{To: "one", Model: "small", After: time.Second}}, "large", "is 8 tokens", 400},
		{"too long, a larger window", long, answers, []gateway.Fallback{tooLong}, "large small", "Hi", 200},
		{"too long for both", long, longer, []gateway.Fallback{tooLong}, "large small", "is 8 tokens", 400},
		{"too long, and a fallback that is not there", long, says(404, `{"error":{"code":"model_not_found"}}`), []gateway.Fallback{tooLong}, "large small", "is 8 tokens", 400},
		{"content policy", policyFault, answers, []gateway.Fallback{{To: "one", Model: "small", After: time.Second}}, "large", "rejected by our safety system", 400},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w, m := newModels(t, "openai", map[string]roundTrip{"large": tt.large, "small": tt.small}, tt.chain...)
			resp, text, err := w.get("/v1/chat/completions", `{"model":"large"}`)
			if err != nil || resp.StatusCode != tt.status || !strings.Contains(text, tt.text) {
				t.Errorf("%s: status %d, %q, %v; want %d, %q", tt.name, resp.StatusCode, text, err, tt.status, tt.text)
			}
			if got := strings.Join(m.asked(), " "); got != tt.asked {
				t.Errorf("%s: asked for %s, want %s", tt.name, got, tt.asked)
			}
			if n := len(strings.Fields(tt.asked)); tt.status != 200 && resp.Header.Get("X-Ridethrough-Upstream") != "one" ||
				n == 2 && resp.Header.Get("X-Ridethrough-Retries") != "1" {
				t.Errorf("%s: headers %v after %d requests", tt.name, resp.Header, n)
			}
		})
	}
}

// TestFailover_PolicyThatNeverRetries is about an upstream whose first failure is its last.
func TestFailover_PolicyThatNeverRetries(t *testing.T) {
	silent := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, context.Cause(req.Context())
	}
	invalid := says(400, `{"error":{"message":"no such parameter","type":"invalid_request_error"}}`, "Content-Type", "application/json")
	overloaded := says(503, `{"error":{"message":"overloaded"}}`, "Content-Type", "application/json")
	tests := []struct {
		name         string
		large, small roundTrip
		after, want  time.Duration
		asked        string
		status       int
	}{
		{"overloaded", overloaded, answers, 0, 0, "large small", 200},
		{"both", overloaded, overloaded, 0, 0, "large small", 503},
		{"invalid", invalid, answers, 0, 0, "large", 400},
		{"silent", silent, answers, 5 * time.Second, 5 * time.Second, "large small", 200},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := &models{t: t, answer: map[string]roundTrip{"large": tt.large, "small": tt.small}}
			w := newHarnessWith(t, gateway.Config{Base: m, Upstreams: []gateway.Upstream{{
				Name: "one", API: "openai", Base: address("one.test"), Fallback: []gateway.Fallback{{To: "one", Model: "small", After: tt.after}},
			}}})
			resp, text, err := w.get("/v1/chat/completions", strings.Replace(gpt, "gpt-5", "large", 1))
			if took := time.Since(w.begun); err != nil || resp.StatusCode != tt.status || took != tt.want {
				t.Errorf("%s: status %d, %q, %v after %v; want %d after %v", tt.name, resp.StatusCode, text, err, took, tt.status, tt.want)
			}
			if got := strings.Join(m.asked(), " "); got != tt.asked {
				t.Errorf("%s: asked for %s, want %s", tt.name, got, tt.asked)
			}
		})
	}
}

// TestFailover_ModelElsewhereGetsNoOtherKey is about a client's key in the query, and a fallback at another host.
func TestFailover_ModelElsewhereGetsNoOtherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &models{t: t, answer: map[string]roundTrip{"small": says(200, `{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`)}}
		var urls []string
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Interactive(),
			Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				urls = append(urls, req.URL.String()+" "+req.Header.Get("X-Goog-Api-Key"))
				return m.RoundTrip(req)
			}),
			Upstreams: []gateway.Upstream{
				{Name: "one", API: "gemini", Base: address("one.test"), Fallback: []gateway.Fallback{{To: "two", Model: "small", Kinds: busy}}},
				{Name: "two", API: "gemini", Base: address("two.test"), Key: func() (string, error) { return "key-of-two", nil }},
			},
		})
		resp, _, err := w.get("/v1beta/models/large:generateContent?key=client&alt=json", `{}`, "X-Goog-Api-Key", "client")
		want := "http://one.test/v1beta/models/large:generateContent?key=client&alt=json client, http://two.test/v1beta/models/small:generateContent?alt=json key-of-two"
		if got := strings.Join(urls, ", "); err != nil || resp.StatusCode != 200 || got != want {
			t.Errorf("status %d, %v, sent to %s; want %s", resp.StatusCode, err, got, want)
		}
	})
}

// TestFailover_ModelOverASocket is about a request on the WebSocket that Codex opens.
func TestFailover_ModelOverASocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		created := "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n"
		done := created + "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n" +
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"model\":\"small\"}}\n\n"
		w, m := newModels(t, "openai", map[string]roundTrip{"large": streams(created + overloadFrame), "small": streams(done)},
			gateway.Fallback{To: "one", Model: "small", After: 20 * time.Second})
		conn, _, err := w.dialCodex("/v1/responses")
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer conn.CloseNow()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"large","store":false,"input":"Hi"}`)); err != nil {
			t.Fatalf("write: %v", err)
		}
		for frame := []byte(nil); !strings.Contains(string(frame), "response.completed"); {
			if _, frame, err = conn.Read(t.Context()); err != nil {
				t.Fatalf("read: %v after %v, want the answer", err, time.Since(w.begun))
			}
			if strings.Contains(string(frame), "ridethrough answer") {
				t.Errorf("the frame %s, want no comment: no frame has one", frame)
			}
		}
		asked := m.asked()
		if last := asked[len(asked)-1]; last != "small" || time.Since(w.begun) != 20*time.Second {
			t.Errorf("asked for %v, answered after %v; want small at last, after 20 s", asked, time.Since(w.begun))
		}
	})
}
