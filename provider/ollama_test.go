package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// transport is an http.RoundTripper in one function.
type ollamaTransport func(*http.Request) (*http.Response, error)

func (t ollamaTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// plays returns a client whose server answers everything with these lines.
func ollamaPlays(lines ...string) *http.Client {
	return ollamaServes(200, "application/x-ndjson", strings.Join(lines, "\n")+"\n")
}

// serves returns a client whose server has one answer.
func ollamaServes(status int, kind, body string) *http.Client {
	return &http.Client{Transport: ollamaTransport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}}, Request: r,
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	})}
}

// listens returns a client that records requests.
func ollamaListens(to *http.Request, body *[]byte) *http.Client {
	return &http.Client{Transport: ollamaTransport(func(r *http.Request) (*http.Response, error) {
		*to = *r
		*body, _ = io.ReadAll(r.Body)
		return ollamaPlays(ollamaDone).Transport.RoundTrip(r)
	})}
}

// ask sends a request and returns the answer.
func ollamaAsk(m llm.Model, r llm.Request) (parts []llm.Part, err error) {
	for p, err := range m.Stream(context.Background(), r) {
		if err != nil {
			return parts, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

var ollamaHello = llm.Request{Messages: []llm.Message{llm.UserMessage("Hello")}}

// line returns a line that is not the last.
func ollamaLine(message string) string {
	return `{"model":"qwen3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",` + message + `},"done":false}`
}

const ollamaDone = `{"model":"qwen3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,` +
	`"total_duration":4883583458,"prompt_eval_count":26,"eval_count":298}`

func ollamaEnd(r llm.Reason) llm.End { return llm.End{Reason: r, Model: "qwen3"} }

func ollamaText(s string) llm.Text { return llm.Text{Text: s} }

func ollamaCall(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// diff compares; an id that had to be made stands for itself.
func ollamaDiff(t *testing.T, name string, want, got any) {
	t.Helper()
	made := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" }, cmp.Comparer(func(a, b string) bool {
		return a == b || a == "made" && len(b) > 20 || b == "made" && len(a) > 20
	}))
	if d := cmp.Diff(want, got, made); d != "" {
		t.Errorf("%s: (-want +got)\n%s", name, d)
	}
}

func TestOllama_Stream(t *testing.T) {
	cost := llm.Usage{Input: 26, Output: 298}
	tests := []struct {
		name   string
		client *http.Client
		want   []llm.Part
	}{
		{"text", ollamaPlays(ollamaLine(`"content":""`), ollamaLine(`"content":"a"`), ollamaLine(`"content":"b"`), ollamaDone), []llm.Part{ollamaText("a"), ollamaText("b"), cost, ollamaEnd(llm.Stop)}},
		{"thoughts", ollamaPlays(ollamaLine(`"content":"","thinking":"hm"`), ollamaLine(`"content":"a"`), ollamaDone), []llm.Part{llm.Reasoning{Text: "hm"}, ollamaText("a"), cost, ollamaEnd(llm.Stop)}},
		{
			"calls",
			ollamaPlays(ollamaLine(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"b":1,"a":"<"}}},{"function":{"name":"g","arguments":{}}}]`),
				ollamaLine(`"content":"","tool_calls":[{"function":{"name":"g"}}]`), ollamaDone),
			[]llm.Part{ollamaCall("c1", "f", `{"b":1,"a":"<"}`), ollamaCall("made", "g", `{}`), ollamaCall("made", "g", `{}`), cost, ollamaEnd(llm.Calls)},
		},
		{"a bound", ollamaPlays(ollamaLine(`"content":"a"`), strings.Replace(ollamaDone, `"stop"`, `"length"`, 1)), []llm.Part{ollamaText("a"), cost, ollamaEnd(llm.Length)}},
		{"a model that was only loaded", ollamaPlays(`{"model":"qwen3","message":{"role":"assistant","content":""},"done_reason":"load","done":true}`), []llm.Part{ollamaEnd(llm.Other)}},
		{"nothing to say", ollamaPlays(ollamaDone), []llm.Part{cost, ollamaEnd(llm.Stop)}},
		{"blank lines and none at the end", ollamaServes(200, "application/x-ndjson", "\n"+ollamaLine(`"content":"a"`)+"\n\n"+ollamaDone), []llm.Part{ollamaText("a"), cost, ollamaEnd(llm.Stop)}},
		{"more after the end", ollamaPlays(ollamaLine(`"content":"a"`), ollamaDone, "x"), []llm.Part{ollamaText("a"), cost, ollamaEnd(llm.Stop)}},
		{
			"in one piece",
			ollamaServes(200, "application/json; charset=utf-8", strings.Replace(ollamaDone, `"content":""`, `"content":"ab","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{}}}]`, 1)),
			[]llm.Part{llm.Reasoning{Text: "hm"}, ollamaText("ab"), ollamaCall("made", "f", `{}`), cost, ollamaEnd(llm.Calls)},
		},
	}
	for _, tt := range tests {
		got, err := ollamaAsk(provider.Ollama(provider.Config{Client: tt.client}), ollamaHello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		ollamaDiff(t, tt.name, tt.want, got)
	}
}

func TestOllama_OtherAnswersAreFaults(t *testing.T) {
	a := ollamaLine(`"content":"a"`)
	tests := []struct {
		name   string
		client *http.Client
		want   fault.Kind
		parts  int
	}{
		{"a clean end", ollamaPlays(a), fault.Truncated, 1},
		{"half a line", ollamaServes(200, "application/x-ndjson", a+"\n"+a[:40]), fault.Truncated, 1},
		{"half a body", ollamaServes(200, "application/json", ollamaDone[:60]), fault.Truncated, 0},
		{"nothing", ollamaServes(200, "application/x-ndjson", ""), fault.Truncated, 0},
		{"nothing but a status", ollamaServes(503, "", ""), fault.Overloaded, 0},
		{"a page", ollamaServes(200, "text/html", "<html><title>502 Bad Gateway</title></html>"), fault.Unavailable, 0},
		{"an error in a line", ollamaPlays(`{"error":"an error was encountered while running the model: unexpected EOF"}`), fault.Unavailable, 0},
		{"an error after text", ollamaPlays(a, `{"error":"an error was encountered while running the model: CUDA error"}`), fault.Unavailable, 1},
		{"an error object of a relay", ollamaPlays(`{"error":{"message":"the request is too large","code":413}}`), fault.TooLong, 0},
		{"an error in a 200", ollamaServes(200, "application/json", `{"error":"server busy, please try again.  maximum pending requests exceeded"}`), fault.Overloaded, 0},
		{"no such model", ollamaServes(404, "application/json", `{"error":"model 'x' not found"}`), fault.Invalid, 0},
		{"loading", ollamaServes(500, "application/json", `{"error":"llm server loading model"}`), fault.Overloaded, 0},
		{"crashed", ollamaServes(500, "application/json", `{"error":"llama runner process has terminated: exit status 2"}`), fault.Unavailable, 0},
		{"too long", ollamaServes(400, "application/json", `{"error":"the input length exceeds the context length"}`), fault.TooLong, 0},
		{"memory", ollamaServes(500, "application/json", `{"error":"model requires more system memory (9.5 GiB) than is available (3.1 GiB)"}`), fault.Invalid, 0},
		{"not signed in", ollamaServes(401, "application/json", `{"error":"unauthorized","signin_url":"https://ollama.com/connect?key=1"}`), fault.Auth, 0},
	}
	for _, tt := range tests {
		got, err := ollamaAsk(provider.Ollama(provider.Config{Client: tt.client}), ollamaHello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != tt.want || f.Provider != "ollama" || len(got) != tt.parts {
			t.Errorf("%s: error %#v, parts %v", tt.name, err, got)
		}
	}
}

func TestOllama_FaultWrapsTheResponse(t *testing.T) {
	const body = `{"error":"unauthorized","signin_url":"https://ollama.com/connect"}`
	_, err := ollamaAsk(provider.Ollama(provider.Config{Client: ollamaServes(401, "application/json", body)}), ollamaHello)
	if e, ok := errors.AsType[*provider.ResponseError](err); !ok || e.StatusCode != 401 || string(e.Body) != body {
		t.Errorf("error %#v", err)
	}
}

func TestOllamaParseHost(t *testing.T) {
	for base, want := range map[string]string{
		"":                             "http://127.0.0.1:11434/api/chat",
		"0.0.0.0":                      "http://127.0.0.1:11434/api/chat",
		"0.0.0.0:8080":                 "http://127.0.0.1:8080/api/chat",
		":8080":                        "http://127.0.0.1:8080/api/chat",
		"[::]:8080":                    "http://127.0.0.1:8080/api/chat",
		"::1":                          "http://[::1]:11434/api/chat",
		"http://[::1]":                 "http://[::1]/api/chat",
		"gpu":                          "http://gpu:11434/api/chat",
		` "gpu:1" `:                    "http://gpu:1/api/chat",
		"http://gpu":                   "http://gpu/api/chat",
		"https://gpu.test/ollama/":     "https://gpu.test/ollama/api/chat",
		"gpu/ollama":                   "http://gpu:11434/ollama/api/chat",
		"ollama.com":                   "https://ollama.com/api/chat",
		"https://ollama.com":           "https://ollama.com/api/chat",
		"http://user:pass@gpu.test:80": "http://user:pass@gpu.test:80/api/chat",
	} {
		var sent http.Request
		var body []byte
		if _, err := ollamaAsk(provider.Ollama(provider.Config{BaseURL: base, Client: ollamaListens(&sent, &body)}), ollamaHello); err != nil || sent.URL.String() != want {
			t.Errorf("base %q: got %v and error %v, want %s", base, sent.URL, err, want)
		}
	}
	for _, base := range []string{"unix:///run/ollama.sock", "gpu:port", "http://%zz"} {
		_, err := ollamaAsk(provider.Ollama(provider.Config{BaseURL: base, Client: ollamaPlays(ollamaDone)}), ollamaHello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid {
			t.Errorf("base %q: got error %v, want an invalid request", base, err)
		}
	}
}

func TestOllama_IgnoresEnvironment(t *testing.T) {
	t.Setenv("OLLAMA_HOST", "http://elsewhere.test")
	t.Setenv("OLLAMA_AUTH", "true") // the SDK's client would look for a key file, and fail
	t.Setenv("OLLAMA_API_KEY", "ambient")
	t.Setenv("HOME", t.TempDir())
	var sent http.Request
	var body []byte
	_, err := ollamaAsk(provider.Ollama(provider.Config{BaseURL: "https://ollama.com", Client: ollamaListens(&sent, &body)}), ollamaHello)
	if err != nil || sent.URL.String() != "https://ollama.com/api/chat" || sent.Header.Get("Authorization") != "" {
		t.Errorf("request to %v with header %v, error %v", sent.URL, sent.Header, err)
	}
	_, _ = ollamaAsk(provider.Ollama(provider.Config{Key: "mine", Client: ollamaListens(&sent, &body)}), ollamaHello)
	if sent.Header.Get("Authorization") != "Bearer mine" {
		t.Errorf("header %v", sent.Header)
	}
}

// sends compares the body of a request with the expected one.
func ollamaSends(t *testing.T, c provider.Config, r llm.Request, want string) {
	t.Helper()
	var sent http.Request
	var body []byte
	c.Client = ollamaListens(&sent, &body)
	if _, err := ollamaAsk(provider.Ollama(c), r); err != nil {
		t.Fatalf("ask: %v", err)
	}
	var got, wanted any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("unmarshal the request %s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	ollamaDiff(t, "body", wanted, got)
}

func TestOllama_RequestBody(t *testing.T) {
	ollamaSends(t, provider.Config{Model: "qwen3", Context: 32768}, llm.Request{
		System: "Be brief.",
		Messages: []llm.Message{
			llm.UserMessage("Weather?"),
			llm.AssistantMessage(llm.Name{Provider: "ollama"}, llm.Reasoning{Text: "hm"}, ollamaText("Let me look."), ollamaCall("c1", "weather", `{"city":"Bonn"}`), ollamaCall("c2", "weather", `"{\"city\""`)),
			llm.ToolMessage(llm.ToolResult{ID: "c1", Name: "weather", Output: "rain"}, llm.ToolResult{ID: "c2", Name: "weather", Output: "bad arguments", Failed: true}),
			llm.AssistantMessage(llm.Name{Provider: "gemini"}, llm.Reasoning{Text: "not ours"}, ollamaText("Rain.")),
			llm.AssistantMessage(llm.Name{Provider: "ollama"}, llm.Reasoning{Text: "nothing came of it"}),
			llm.UserMessage("Thanks."),
		},
		Tools: []llm.Tool{
			{Name: "weather", Description: "The weather.", Schema: json.RawMessage(`{"type":"object","required":["city"],"properties":{"city":{"type":"string","enum":["Bonn"]}}}`)},
			{Name: "now"},
		},
		MaxTokens: 100, Effort: llm.High,
	}, `{
		"model": "qwen3", "stream": true, "think": true, "truncate": false, "shift": false, "options": {"num_predict": 100, "num_ctx": 32768},
		"messages": [
			{"role": "system", "content": "Be brief."},
			{"role": "user", "content": "Weather?"},
			{"role": "assistant", "content": "Let me look.", "thinking": "hm", "tool_calls": [
				{"id": "c1", "function": {"index": 0, "name": "weather", "arguments": {"city": "Bonn"}}},
				{"id": "c2", "function": {"index": 1, "name": "weather", "arguments": {"arguments": "{\"city\""}}}]},
			{"role": "tool", "tool_call_id": "c1", "tool_name": "weather", "content": "rain"},
			{"role": "tool", "tool_call_id": "c2", "tool_name": "weather", "content": "bad arguments"},
			{"role": "assistant", "content": "Rain."},
			{"role": "user", "content": "Thanks."}],
		"tools": [
			{"type": "function", "function": {"name": "weather", "description": "The weather.",
				"parameters": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "enum": ["Bonn"]}}}}},
			{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]
	}`)
	ollamaSends(t, provider.Config{Model: "gpt-oss:20b"}, llm.Request{Messages: ollamaHello.Messages, Effort: llm.Low, NoStream: true}, `{
		"model": "gpt-oss:20b", "stream": false, "think": "low", "truncate": false, "shift": false, "options": {},
		"messages": [{"role": "user", "content": "Hello"}]
	}`)
}

func TestOllama_UnencodableRequestIsInvalid(t *testing.T) {
	for _, r := range []llm.Request{
		{Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`{`)}}},
		{Messages: []llm.Message{{Role: "system"}}},
	} {
		_, err := ollamaAsk(provider.Ollama(provider.Config{Client: ollamaPlays(ollamaDone)}), r)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid {
			t.Errorf("error %v", err)
		}
	}
}

func TestOllama_SchemaKeepsItsMembers(t *testing.T) {
	for schema, want := range map[string]string{
		"":     `{"type": "object", "properties": {}}`,
		"null": `{"type": "object", "properties": {}}`,
		`{"$defs":{"d":{}},"additionalProperties":false,"type":null,"properties":{"b":{"anyOf":[{"type":"string"}]}}}`: `
			{"type": "object", "properties": {"b": {"anyOf": [{"type": "string"}]}}, "additionalProperties": false, "$defs": {"d": {}}}`,
	} {
		r := ollamaHello
		r.Tools = []llm.Tool{{Name: "f", Schema: json.RawMessage(schema)}}
		ollamaSends(t, provider.Config{Model: "qwen3"}, r, `{
			"model": "qwen3", "stream": true, "truncate": false, "shift": false, "options": {},
			"messages": [{"role": "user", "content": "Hello"}],
			"tools": [{"type": "function", "function": {"name": "f", "parameters": `+want+`}}]
		}`)
	}
}
