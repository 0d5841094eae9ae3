package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

const geminiPro = "gemini-3-pro"

var geminiBy = llm.Name{Provider: "gemini", Model: geminiPro}

// collect ranges over an answer and returns its parts and its error.
func geminiCollect(ctx context.Context, m llm.Model, r llm.Request) (parts []llm.Part, err error) {
	for p, e := range m.Stream(ctx, r) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// house answers every request with the same body, and keeps the last request.
type geminiHouse struct {
	body  string
	kind  string // its type; "": that of a stream
	asked string
	req   *http.Request
	count int
}

func (h *geminiHouse) RoundTrip(req *http.Request) (*http.Response, error) {
	asked, _ := io.ReadAll(req.Body)
	h.asked, h.req = string(asked), req
	h.count++
	kind := h.kind
	if kind == "" {
		kind = "text/event-stream"
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Request: req,
		Body: io.NopCloser(strings.NewReader(h.body)),
	}, nil
}

func (h *geminiHouse) model(model string) *provider.Model {
	return provider.Gemini(provider.Config{Model: model, Key: "k", Client: &http.Client{Transport: h}})
}

// stream writes events as the API does.
func geminiStream(chunks ...string) string {
	return "data: " + strings.Join(chunks, "\r\n\r\ndata: ") + "\r\n\r\n"
}

// chunk is a chunk with parts and, if it is the last, why it is.
func geminiChunk(parts, finish string) string {
	if finish != "" {
		finish = `,"finishReason":"` + finish + `"`
	}
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + finish + `,"index":0}],` +
		`"usageMetadata":{"promptTokenCount":114,"candidatesTokenCount":4,"thoughtsTokenCount":5,"cachedContentTokenCount":100,"totalTokenCount":123},` +
		`"modelVersion":"gemini-x","responseId":"r"}`
}

var (
	geminiUsed = llm.Usage{Input: 114, Output: 9, CacheRead: 100, Reasoning: 5}
	geminiStop = llm.End{Reason: llm.Stop, Model: "gemini-x"}
)

func TestGemini_StreamYieldsEveryPart(t *testing.T) {
	tests := []struct {
		name   string
		chunks []string
		want   []llm.Part
	}{
		{
			"text",
			[]string{geminiChunk(`{"text":"forty"}`, ""), geminiChunk(`{"text":"-two"}`, ""), geminiChunk(`{"text":""}`, "STOP")},
			[]llm.Part{llm.Text{Text: "forty"}, llm.Text{Text: "-two"}, geminiUsed, geminiStop},
		},
		{
			"thoughts and a signature behind the text",
			[]string{geminiChunk(`{"text":"hm","thought":true}`, ""), geminiChunk(`{"text":"So"}`, ""), geminiChunk(`{"text":"","thoughtSignature":"EqQ="}`, "STOP")},
			[]llm.Part{llm.Reasoning{Text: "hm"}, llm.Text{Text: "So"}, llm.Reasoning{Signature: "EqQ="}, geminiUsed, geminiStop},
		},
		{
			"parallel calls",
			[]string{geminiChunk(`{"functionCall":{"id":"f1","name":"read","args":{"path":"a"}},"thoughtSignature":"EqQ="},{"functionCall":{"id":"f2","name":"list"}}`, ""), geminiChunk(`{"text":""}`, "STOP")},
			[]llm.Part{
				llm.ToolCall{ID: "f1", Name: "read", Arguments: []byte(`{"path":"a"}`), Signature: "EqQ="},
				llm.ToolCall{ID: "f2", Name: "list", Arguments: []byte(`{}`)},
				geminiUsed,
				llm.End{Reason: llm.Calls, Model: "gemini-x"},
			},
		},
		{"nothing", []string{geminiChunk(`{"text":""}`, "STOP")}, []llm.Part{geminiUsed, geminiStop}},
		{"no content", []string{`{"candidates":[{"finishReason":"STOP"}]}`}, []llm.Part{llm.End{Reason: llm.Stop}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := geminiCollect(t.Context(), (&geminiHouse{body: geminiStream(tt.chunks...)}).model(geminiPro), llm.Request{})
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("error %v; parts (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestGemini_GeneratedCallIDIsNotSentBack(t *testing.T) {
	h := &geminiHouse{body: geminiStream(geminiChunk(`{"functionCall":{"name":"now"}}`, "STOP"))}
	got, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{})
	call, ok := got[0].(llm.ToolCall)
	if err != nil || !ok || !provider.IsGeneratedID(call.ID) {
		t.Fatalf("got %v, error %v", got, err)
	}
	_, err = geminiCollect(t.Context(), h.model(geminiPro), llm.Request{Messages: []llm.Message{
		llm.UserMessage("Hi"), llm.AssistantMessage(geminiBy, call), llm.ToolMessage(llm.ToolResult{ID: call.ID, Output: "noon"}),
	}})
	if err != nil || strings.Contains(h.asked, call.ID) || !strings.Contains(h.asked, `"functionResponse":{"name":"now"`) {
		t.Errorf("request %v, error %v", h.asked, err)
	}
}

func TestGemini_NoStreamYieldsTheSameParts(t *testing.T) {
	h := &geminiHouse{kind: "application/json", body: geminiChunk(`{"text":"hm","thought":true},{"text":"So","thoughtSignature":"EqQ="},{"functionCall":{"id":"f1","name":"now"}}`, "STOP")}
	got, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{NoStream: true})
	want := []llm.Part{
		llm.Reasoning{Text: "hm"},
		llm.Text{Text: "So"},
		llm.Reasoning{Signature: "EqQ="},
		llm.ToolCall{ID: "f1", Name: "now", Arguments: []byte(`{}`)},
		geminiUsed,
		llm.End{Reason: llm.Calls, Model: "gemini-x"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v; parts (-want +got):\n%s", err, diff)
	}
	if !strings.HasSuffix(h.req.URL.Path, ":generateContent") {
		t.Errorf("request to %v", h.req.URL)
	}
}

func TestGemini_FinishReasons(t *testing.T) {
	for finish, want := range map[string]llm.Reason{
		"STOP": llm.Stop, "MAX_TOKENS": llm.Length, "CONTINUATION": llm.Length, "SAFETY": llm.Refusal, "RECITATION": llm.Refusal, "SPII": llm.Refusal,
		"OTHER": llm.Other, "SOMETHING_NEW": llm.Other,
	} {
		h := &geminiHouse{body: geminiStream(geminiChunk(`{"text":"a"}`, finish))}
		got, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{})
		if err != nil || got[len(got)-1].(llm.End).Reason != want || h.count != 1 {
			t.Errorf("finish reason %s: parts %v, error %v", finish, got, err)
		}
	}
}

func TestGemini_OtherAnswersAreFaults(t *testing.T) {
	tests := []struct {
		name, kind, body string
		want             fault.Kind
		words            string
	}{
		{"a prompt that is blocked", "", geminiStream(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":9}}`), fault.Refused, "error in a 200: the prompt was blocked: SAFETY"},
		{"a prompt that is blocked with words", "", geminiStream(`{"promptFeedback":{"blockReason":"JAILBREAK","blockReasonMessage":"No."}}`), fault.Refused, "error in a 200: No."},
		{"a call that is none", "", geminiStream(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print()"}]}`), fault.Unknown, "error in a 200: the model made a malformed tool call"},
		{"too many calls", "", geminiStream(geminiChunk(`{"text":"a"}`, "TOO_MANY_TOOL_CALLS")), fault.Unknown, "error in a 200: the model made too many tool calls"},
		{"costs of nothing", "", geminiStream(`{"usageMetadata":{"promptTokenCount":9}}`), fault.Truncated, ""},
		{"an answer without its end", "", geminiStream(geminiChunk(`{"text":"a"}`, "")), fault.Truncated, ""},
		{"half of a chunk that speaks of quotas", "", geminiStream(geminiChunk(`{"text":"a"}`, "")) + `data: {"candidates":[{"content":{"parts":[{"text":"rate limit exceeded, overloaded"`, fault.Truncated, "the answer broke off: it ended without its terminator"},
		{"an array that is an error", "application/json", `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, fault.Overloaded, "error in a 200: The model is overloaded."},
		{"an error as an event", "", geminiStream(`{"error":{"code":429,"message":"Slow down","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`), fault.RateLimited, "HTTP 429: Slow down"},
		{"candidates in another form", "", geminiStream(`{"candidates":{"a":1}}`), fault.Truncated, ""},
		{"a candidate of another form", "", geminiStream(`{"candidates":["a"]}`), fault.Truncated, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &geminiHouse{kind: tt.kind, body: tt.body}
			_, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{})
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != tt.want || f.Provider != "gemini" || h.count != 1 {
				t.Fatalf("error %#v", err)
			}
			if tt.words != "" && f.Error() != tt.words {
				t.Errorf("fault %v, want %q", f, tt.words)
			}
		})
	}
}

func TestGemini_WaitFromErrorEvent(t *testing.T) {
	h := &geminiHouse{body: geminiStream(`{"error":{"code":429,"message":"Slow down","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`)}
	_, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{})
	f, ok := errors.AsType[*fault.Error](err)
	if e, of := errors.AsType[*provider.ResponseError](err); !ok || !of || f.Wait != 7*time.Second || e.StatusCode != 200 || !strings.Contains(string(e.Body), `"retryDelay":"7s"`) {
		t.Errorf("error %#v", err)
	}
}

func TestGemini_CallersPanicIsNotRecovered(t *testing.T) {
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v, want the panic of the loop", p)
		}
	}()
	for range (&geminiHouse{body: geminiStream(geminiChunk(`{"text":"a"}`, "STOP"))}).model(geminiPro).Stream(t.Context(), llm.Request{}) {
		panic("mine")
	}
}

func TestGemini_IgnoresEnvironment(t *testing.T) {
	for _, name := range []string{
		"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
	} {
		t.Setenv(name, "https://leaked.test")
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
	h := &geminiHouse{body: geminiStream(geminiChunk(`{"text":"a"}`, "STOP"))}
	m := provider.Gemini(provider.Config{Model: geminiPro, Client: &http.Client{Transport: h}})
	_, err := geminiCollect(t.Context(), m, llm.Request{})
	if err != nil || h.req.URL.String() != "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse" || h.req.Header.Get("X-Goog-Api-Key") != "" {
		t.Errorf("error %v, request to %v with header %v", err, h.req.URL, h.req.Header)
	}
}

func TestGemini_UsesKeyAndBaseURL(t *testing.T) {
	h := &geminiHouse{body: geminiStream(geminiChunk(`{"text":"a"}`, "STOP"))}
	m := provider.Gemini(provider.Config{Model: geminiPro, Key: "k", BaseURL: "http://here.test/api", Client: &http.Client{Transport: h}})
	_, err := geminiCollect(t.Context(), m, llm.Request{})
	if err != nil || h.req.Header.Get("X-Goog-Api-Key") != "k" || h.req.URL.Host+h.req.URL.Path != "here.test/api/v1beta/models/gemini-3-pro:streamGenerateContent" || m.Name() != geminiBy {
		t.Errorf("error %v, request to %v with header %v", err, h.req.URL, h.req.Header)
	}
	_, err = geminiCollect(t.Context(), provider.Gemini(provider.Config{Model: geminiPro, BaseURL: "here.test"}), llm.Request{})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid {
		t.Errorf("error %v of unexpected type or kind", err)
	}
}

func TestGemini_BrokenConnectionIsAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulator.New(simulator.Script{Then: simulator.Cut{After: 1}})
		defer p.Close()
		_, err := geminiCollect(t.Context(), provider.Gemini(provider.Config{Model: geminiPro, Key: "k", Client: p.Client()}), llm.Request{})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Rule != "stream/broken" {
			t.Errorf("error %v; want stream/broken", err)
		}
	})
}

func TestGemini_KeepsArgumentsAndSignaturesAsTheyCame(t *testing.T) {
	h := &geminiHouse{body: geminiStream(geminiChunk(`{"functionCall":{"id":"f1","name":"f","args":{"z":12345678901234567890,"a":"<"}},"thoughtSignature":"_-8"}`, "STOP"))}
	got, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{})
	want := llm.ToolCall{ID: "f1", Name: "f", Arguments: []byte(`{"z":12345678901234567890,"a":"<"}`), Signature: "_-8"}
	if err != nil {
		t.Fatalf("collect: %v", err)
	}
	if diff := cmp.Diff(llm.Part(want), got[0]); diff != "" {
		t.Errorf("first part (-want +got):\n%s", diff)
	}
}

func TestGemini_StreamThatEndsWithBareJSONIsAFault(t *testing.T) {
	for _, end := range []string{"\n\n", ""} {
		h := &geminiHouse{body: geminiStream(geminiChunk(`{"text":"a"}`, "")) + "{\n  \"error\": {\"code\": 503, \"message\": \"Overloaded\", \"status\": \"UNAVAILABLE\"}\n}" + end}
		_, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Overloaded || f.Message != "Overloaded" {
			t.Errorf("end %q: error %#v, want the provider's own", end, err)
		}
	}
}

func TestGemini_LastEventNeedsNoBlankLine(t *testing.T) {
	h := &geminiHouse{body: strings.TrimRight(geminiStream(geminiChunk(`{"text":"a"}`, "STOP")), "\r\n")}
	if got, err := geminiCollect(t.Context(), h.model(geminiPro), llm.Request{}); err != nil || len(got) != 3 {
		t.Errorf("got %v and error %v, want a text, its usage and the end", got, err)
	}
}

func TestGemini_NamesInTheURL(t *testing.T) {
	for model, want := range map[string]string{
		"gemini-3-pro": "/v1beta/models/gemini-3-pro:streamGenerateContent", "models/x": "/v1beta/models/x:streamGenerateContent",
		"tunedModels/mine": "/v1beta/tunedModels/mine:streamGenerateContent",
		"":                 "", "../secret": "", "x?key=1": "", "x#": "", "x%2e": "",
	} {
		h := &geminiHouse{body: geminiStream(geminiChunk(`{"text":"a"}`, "STOP"))}
		_, err := geminiCollect(t.Context(), h.model(model), llm.Request{})
		f, failed := errors.AsType[*fault.Error](err)
		switch {
		case want == "" && (!failed || f.Kind != fault.Invalid || h.count > 0):
			t.Errorf("model %q: error %v after %d requests, want an invalid request that is not sent", model, err, h.count)
		case want != "" && (err != nil || h.req.URL.Path != want):
			t.Errorf("model %q: request %v, error %v; want path %s", model, h.req, err, want)
		}
	}
}
