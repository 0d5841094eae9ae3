package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

const claudeClaude = "claude-opus-4-8"

var claudeBy = llm.Name{Provider: "anthropic", Model: claudeClaude}

// collect ranges over an answer and returns its parts and its error.
func claudeCollect(ctx context.Context, m llm.Model, r llm.Request) (parts []llm.Part, err error) {
	for p, e := range m.Stream(ctx, r) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// house answers every request with the same body, and keeps the last request.
type claudeHouse struct {
	body   string
	header http.Header
	asked  string
}

func (h *claudeHouse) RoundTrip(req *http.Request) (*http.Response, error) {
	asked, _ := io.ReadAll(req.Body)
	h.asked, h.header = string(asked), req.Header
	kind := "application/json"
	if strings.HasPrefix(h.body, "event:") {
		kind = "text/event-stream; charset=utf-8"
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Request: req,
		Body: io.NopCloser(strings.NewReader(h.body)),
	}, nil
}

func (h *claudeHouse) model(model string) *provider.Model {
	return provider.Anthropic(provider.Config{Model: model, Key: "k", Client: &http.Client{Transport: h}})
}

// stream writes events as the API does: each is named by the type in its data.
func claudeStream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(e), &head); err != nil {
			panic(e)
		}
		b.WriteString("event: " + head.Type + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

const (
	claudeStart         = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":4,"cache_read_input_tokens":100,"output_tokens":1}}}`
	claudeContentBlocks = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":5}}}`
	claudeCalls         = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`
	claudeOver          = `{"type":"message_stop"}`
)

var (
	claudeOpened = llm.Usage{Input: 114, Output: 1, CacheRead: 100, CacheWrite: 4}
	claudeClosed = llm.Usage{Input: 114, Output: 9, CacheRead: 100, CacheWrite: 4}
)

func TestAnthropic_StreamYieldsEveryPart(t *testing.T) {
	thinking := claudeClosed
	thinking.Reasoning = 5
	tests := []struct {
		name   string
		events []string
		want   []llm.Part
	}{
		{"text", []string{
			claudeStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"forty"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"-two"}}`,
			`{"type":"content_block_stop","index":0}`, claudeContentBlocks, claudeOver,
		}, []llm.Part{llm.Text{Text: "forty"}, claudeOpened, llm.Text{Text: "-two"}, thinking, llm.End{Reason: llm.Stop, Model: "claude-x"}}},
		{"thoughts, shown and hidden", []string{
			claudeStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQ="}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}`,
			`{"type":"content_block_stop","index":1}`, claudeContentBlocks, claudeOver,
		}, []llm.Part{
			llm.Reasoning{Text: "hm"},
			claudeOpened,
			llm.Reasoning{Signature: "EqQ="},
			llm.Reasoning{Signature: "redacted:xyz"},
			thinking,
			llm.End{Reason: llm.Stop, Model: "claude-x"},
		}},
		{"calls that interleave", []string{
			claudeStart,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"at\":1}"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":" \"a\"}"}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"content_block_stop","index":1}`, claudeCalls, claudeOver,
		}, []llm.Part{
			llm.ToolCall{ID: "toolu_1", Name: "read", Arguments: []byte(`{"path": "a"}`)},
			claudeOpened,
			llm.ToolCall{ID: "toolu_2", Name: "list", Arguments: []byte(`{"at":1}`)},
			claudeClosed,
			llm.End{Reason: llm.Calls, Model: "claude-x"},
		}},
		{"a call without arguments, one with all at once, one cut short", []string{
			claudeStart,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"now","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"at","input":{"x":2}}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c","name":"at","input":{}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}`, `{"type":"content_block_stop","index":2}`,
			`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}`, claudeOver,
		}, []llm.Part{
			llm.ToolCall{ID: "a", Name: "now", Arguments: []byte(`{}`)},
			claudeOpened,
			llm.ToolCall{ID: "b", Name: "at", Arguments: []byte(`{"x":2}`)},
			llm.ToolCall{ID: "c", Name: "at", Arguments: []byte(`"{\"x\""`)},
			claudeClosed,
			llm.End{Reason: llm.Calls, Model: "claude-x"},
		}},
		{"nothing", []string{claudeStart, claudeContentBlocks, claudeOver}, []llm.Part{thinking, llm.End{Reason: llm.Stop, Model: "claude-x"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := claudeCollect(t.Context(), (&claudeHouse{body: claudeStream(tt.events...)}).model(claudeClaude), llm.Request{})
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("error %v; parts (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAnthropic_NoStreamYieldsTheSameParts(t *testing.T) {
	h := &claudeHouse{body: `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","stop_reason":"tool_use","content":[` +
		`{"type":"thinking","thinking":"hm","signature":"EqQ="},{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"so"},` +
		`{"type":"tool_use","id":"toolu_1","name":"read","input":{"path": "a"}}],` +
		`"usage":{"input_tokens":10,"cache_creation_input_tokens":4,"cache_read_input_tokens":100,"output_tokens":9}}`}
	got, err := claudeCollect(t.Context(), h.model(claudeClaude), llm.Request{NoStream: true, MaxTokens: 128_000})
	want := []llm.Part{
		llm.Reasoning{Text: "hm", Signature: "EqQ="},
		llm.Reasoning{Signature: "redacted:xyz"},
		llm.Text{Text: "so"},
		llm.ToolCall{ID: "toolu_1", Name: "read", Arguments: []byte(`{"path": "a"}`)},
		claudeClosed,
		llm.End{Reason: llm.Calls, Model: "claude-x"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v; parts (-want +got):\n%s", err, diff)
	}
	if strings.Contains(h.asked, `"stream"`) {
		t.Errorf("header %v, request %v", h.header, h.asked)
	}
}

func TestAnthropic_TruncatedCallIsDropped(t *testing.T) {
	got, err := claudeCollect(t.Context(), (&claudeHouse{body: claudeStream(claudeStart,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"rm","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"/\"}"}}`,
	)}).model(claudeClaude), llm.Request{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Truncated || f.Provider != "anthropic" || len(got) != 0 {
		t.Errorf("got %v, error %v", got, err)
	}
}

func TestAnthropic_StopReasons(t *testing.T) {
	for stop, want := range map[string]llm.Reason{
		"end_turn": llm.Stop, "stop_sequence": llm.Stop, "max_tokens": llm.Length, "model_context_window_exceeded": llm.Length,
		"refusal": llm.Refusal, "pause_turn": llm.Other, "tool_use": llm.Calls,
	} {
		got, err := claudeCollect(t.Context(), (&claudeHouse{body: claudeStream(claudeStart, strings.Replace(claudeContentBlocks, "end_turn", stop, 1), claudeOver)}).model(claudeClaude), llm.Request{})
		if err != nil || got[len(got)-1].(llm.End).Reason != want {
			t.Errorf("stop reason %s: parts %v, error %v", stop, got, err)
		}
	}
}

func TestAnthropic_ErrorEventIsClassified(t *testing.T) {
	h := &claudeHouse{body: claudeStream(claudeStart, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}
	got, err := claudeCollect(t.Context(), h.model(claudeClaude), llm.Request{})
	f, ok := errors.AsType[*fault.Error](err)
	if _, of := errors.AsType[*provider.ResponseError](err); !ok || !of || f.Kind != fault.Overloaded || f.Status != 200 || f.Code != "overloaded_error" || len(got) != 0 {
		t.Errorf("parts %v, error %#v", got, err)
	}
}

func TestAnthropic_IgnoresEnvironment(t *testing.T) {
	for _, name := range []string{"API_KEY", "AUTH_TOKEN", "BASE_URL", "PROFILE", "CUSTOM_HEADERS", "FEDERATION_RULE_ID", "ORGANIZATION_ID", "IDENTITY_TOKEN", "CONFIG_DIR"} {
		t.Setenv("ANTHROPIC_"+name, "https://elsewhere.test: leaked")
	}
	h := &claudeHouse{body: claudeStream(claudeStart, claudeContentBlocks, claudeOver)}
	m := provider.Anthropic(provider.Config{Model: claudeClaude, BaseURL: "http://here.test/api", Client: &http.Client{Transport: h}})
	_, err := claudeCollect(t.Context(), m, llm.Request{})
	if sent, _ := json.Marshal(h.header); err != nil || strings.Contains(string(sent), "leaked") || h.header.Get("X-Api-Key")+h.header.Get("Authorization") != "" {
		t.Errorf("error %v, header %v", err, h.header)
	}
}

func TestAnthropic_UsesKeyTokenAndBaseURL(t *testing.T) {
	h := &claudeHouse{body: claudeStream(claudeStart, claudeContentBlocks, claudeOver)}
	var path string
	client := &http.Client{Transport: claudeRoundTripper(func(req *http.Request) (*http.Response, error) {
		path = req.URL.String()
		return h.RoundTrip(req)
	})}
	m := provider.Anthropic(provider.Config{Model: claudeClaude, Key: "k", Token: "t", BaseURL: "http://here.test/api", Client: client})
	_, err := claudeCollect(t.Context(), m, llm.Request{})
	if err != nil || h.header.Get("X-Api-Key") != "k" || h.header.Get("Authorization") != "Bearer t" || path != "http://here.test/api/v1/messages" {
		t.Errorf("error %v, header %v, path %s", err, h.header, path)
	}
	if m.Name() != claudeBy {
		t.Errorf("Name() = %v", m.Name())
	}
}

type claudeRoundTripper func(*http.Request) (*http.Response, error)

func (f claudeRoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestAnthropic_BadBaseURLIsInvalid(t *testing.T) {
	for _, base := range []string{"localhost:8080", "::", "ftp://here.test", "http://"} {
		_, err := claudeCollect(t.Context(), provider.Anthropic(provider.Config{Model: claudeClaude, BaseURL: base}), llm.Request{})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid || f.Provider != "anthropic" {
			t.Errorf("base URL %q: error %v, want an invalid request", base, err)
		}
	}
}

func TestAnthropic_ErrorInPlaceOfAStreamKeepsItsHeaders(t *testing.T) {
	const body = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for _, whole := range []bool{false, true} {
		client := &http.Client{Transport: claudeRoundTripper(func(req *http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"7"}}
			return &http.Response{StatusCode: 200, Header: header, Request: req, Body: io.NopCloser(strings.NewReader(body))}, nil
		})}
		_, err := claudeCollect(t.Context(), provider.Anthropic(provider.Config{Model: claudeClaude, Client: client}), llm.Request{NoStream: whole})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.Overloaded || f.Wait != 7*time.Second {
			t.Errorf("whole %t: error %#v, want overloaded, and a wait of 7s", whole, err)
		}
		if e, ok := errors.AsType[*provider.ResponseError](err); !ok || string(e.Body) != body {
			t.Errorf("whole %t: error %#v does not have the response", whole, err)
		}
	}
}

func TestAnthropic_EventsWithoutNames(t *testing.T) {
	body := claudeStream(claudeStart, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, claudeContentBlocks, claudeOver)
	var bare []string
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "event: ") {
			bare = append(bare, line)
		}
	}
	got, err := claudeCollect(t.Context(), (&claudeHouse{body: strings.Join(bare, "")}).model(claudeClaude), llm.Request{})
	if err != nil || len(got) != 4 || got[0] != llm.Part(llm.Text{Text: "a"}) {
		t.Errorf("got %v and error %v, want a text, two usages and the end", got, err)
	}
}
