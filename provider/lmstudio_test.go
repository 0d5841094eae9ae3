package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/retry"
)

// transport is an http.RoundTripper in one function.
type lmstudioTransport func(*http.Request) (*http.Response, error)

func (t lmstudioTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// serves returns a client whose server has these answers, the last one for ever. A
// body that begins with "data:" or "event:" is a stream.
func lmstudioServes(status int, bodies ...string) *http.Client {
	return &http.Client{Transport: lmstudioTransport(func(r *http.Request) (*http.Response, error) {
		body := bodies[0]
		if len(bodies) > 1 {
			bodies = bodies[1:]
		}
		code, kind := status, "application/json; charset=utf-8"
		if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
			code, kind = 200, "text/event-stream"
		}
		return &http.Response{
			StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Request: r,
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	})}
}

var lmstudioHello = llm.Request{Messages: []llm.Message{llm.UserMessage("Hello")}}

// ask sends a request and returns the answer.
func lmstudioAsk(m llm.Model, r llm.Request) (parts []llm.Part, err error) {
	for p, err := range m.Stream(context.Background(), r) {
		if err != nil {
			return parts, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

const (
	lmstudioRole = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"qwen3","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	lmstudioWord = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"qwen3","choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":null}]}` + "\n\n"
	lmstudioLast = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"qwen3","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

func TestLMStudio_Errors(t *testing.T) {
	const crash = "The model has crashed without additional information. (Exit code: 18446744072635812000)"
	tests := []struct {
		name   string
		client *http.Client
		want   fault.Kind
		parts  int
	}{
		{"not loaded", lmstudioServes(404, `{"error":{"message":"No models loaded. Please load a model in the developer page or use the 'lms load' command.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`), fault.Invalid, 0},
		{"unloaded", lmstudioServes(400, `{"error":"Model is unloaded."}`), fault.Overloaded, 0},
		{"unloaded while it spoke", lmstudioServes(200, lmstudioWord+"event: error\ndata: {\"error\":{\"message\":\"Model unloaded.\"},\"message\":\"Model unloaded.\"}\n\n"), fault.Overloaded, 1},
		{"loading was stopped", lmstudioServes(400, `{"error":"Model loading was stopped due to insufficient system resources."}`), fault.Overloaded, 0},
		{"loading was stopped by another", lmstudioServes(400, `{"error":"Model loading was stopped"}`), fault.Unavailable, 0},
		{"failed to load", lmstudioServes(400, `{"error":{"message":"Failed to load model \"qwen3\". Error: Model loading failed","type":"invalid_request_error"}}`), fault.Overloaded, 0},
		{"crashed", lmstudioServes(400, `{"error":"`+crash+`"}`), fault.Unavailable, 0},
		{"crashed before it spoke", lmstudioServes(200, lmstudioRole+"data: {\"error\":\""+crash+"\"}\n\n"), fault.Unavailable, 0},
		{"crashed while it spoke", lmstudioServes(200, lmstudioWord+"event: error\ndata: {\"message\":\""+crash+"\"}\n\n"), fault.Unavailable, 1},
		{"gone while it spoke", lmstudioServes(200, lmstudioWord), fault.Truncated, 1},
		{"too long", lmstudioServes(400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`), fault.TooLong, 0},
		{"the wrong address", lmstudioServes(200, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`), fault.Invalid, 0},
		{"no token", lmstudioServes(401, `{"error":{"message":"Malformed LM Studio API token provided: sk-lm-aaaaaaaa:bbbbbbbbbbbbbbbbbbbb","type":"invalid_request","code":"invalid_api_key","param":null}}`), fault.Auth, 0},
	}
	for _, tt := range tests {
		got, err := lmstudioAsk(provider.LMStudio(provider.Config{Model: "qwen3", Client: tt.client}), lmstudioHello)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != tt.want || f.Provider != "lmstudio" || len(got) != tt.parts || strings.Contains(err.Error(), "bbbb") {
			t.Errorf("%s: error %#v, parts %v", tt.name, err, got)
		}
	}
}

func TestLMStudio_LoadingModelIsRetriable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := provider.LMStudio(provider.Config{Client: lmstudioServes(400, `{"error":"Model is unloaded."}`, `{"error":"Model is unloaded."}`, lmstudioWord+lmstudioLast)})
		begun := time.Now()
		if parts, err := lmstudioAsk(m, lmstudioHello); err == nil || time.Since(begun) != 0 {
			t.Fatalf("parts %v, error %v; want a fault at once", parts, err)
		}
		open := func(ctx context.Context, _ int) iter.Seq2[llm.Part, error] { return m.Stream(ctx, lmstudioHello) }
		var c llm.Collector
		for p, err := range retry.Stream(t.Context(), retry.Retrier{Policy: policy.Simple()}, llm.IsContent, open) {
			if err != nil {
				t.Fatalf("stream: %v", err)
			}
			c.Add(p)
		}
		if c.Content().Text() != "a" || c.End != (llm.End{Reason: llm.Stop, Model: "qwen3"}) {
			t.Errorf("collected %+v", c)
		}
	})
}

func TestLMStudio_DefaultBaseURL(t *testing.T) {
	for _, c := range []provider.Config{{Model: "m"}, {Model: "m", BaseURL: "http://127.0.0.1:1234/v1", Key: "k"}} {
		t.Setenv("OPENAI_API_KEY", "ambient")
		t.Setenv("OPENAI_BASE_URL", "http://elsewhere.test")
		c.Client = &http.Client{Transport: lmstudioTransport(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			var got map[string]any
			_ = json.Unmarshal(body, &got)
			want := map[string]any{
				"model": "m", "stream": true, "stream_options": map[string]any{"include_usage": true}, "max_tokens": 7.0,
				"messages": []any{map[string]any{"role": "user", "content": "Hello"}},
			}
			if d := cmp.Diff(want, got); d != "" || r.URL.String() != "http://127.0.0.1:1234/v1/chat/completions" {
				t.Errorf("request to %s: (-want +got)\n%s", r.URL, d)
			}
			if key := r.Header.Get("Authorization"); (key != "") != (c.Key != "") || strings.Contains(key, "ambient") {
				t.Errorf("Authorization %q", key)
			}
			return lmstudioServes(200, lmstudioWord+lmstudioLast).Transport.RoundTrip(r)
		})}
		if _, err := lmstudioAsk(provider.LMStudio(c), llm.Request{Messages: lmstudioHello.Messages, MaxTokens: 7}); err != nil {
			t.Errorf("ask: %v", err)
		}
	}
}

func ExampleLMStudio() {
	server := simulator.New(simulator.Script{Answer: "It is well."}) // in place of a server
	defer server.Close()

	model := provider.LMStudio(provider.Config{Model: "openai/gpt-oss-20b", Client: server.Client()})
	for part, err := range model.Stream(context.Background(), llm.Request{Messages: []llm.Message{llm.UserMessage("How are you?")}}) {
		if text, ok := part.(llm.Text); ok && err == nil {
			fmt.Print(text.Text)
		}
	}
	fmt.Println(" //", model.Name())
	// Output: It is well. // lmstudio/openai/gpt-oss-20b
}
