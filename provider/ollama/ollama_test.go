package ollama_test

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
	"github.com/ridethrough/ridethrough/provider/ollama"
)

// transport is an http.RoundTripper in one function.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// plays returns a client whose server answers everything with these lines.
func plays(lines ...string) *http.Client {
	return serves(200, "application/x-ndjson", strings.Join(lines, "\n")+"\n")
}

// serves returns a client whose server has one answer.
func serves(status int, kind, body string) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}}, Request: r,
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	})}
}

// listens returns a client that records requests.
func listens(to *http.Request, body *[]byte) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		*to = *r
		*body, _ = io.ReadAll(r.Body)
		return plays(done).Transport.RoundTrip(r)
	})}
}

// ask sends a request and returns the answer.
func ask(m llm.Model, r llm.Request) (parts []llm.Part, err error) {
	for p, err := range m.Stream(context.Background(), r) {
		if err != nil {
			return parts, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

var hello = llm.Request{Messages: []llm.Message{llm.UserMessage("Hello")}}

// line returns a line that is not the last.
func line(message string) string {
	return `{"model":"qwen3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",` + message + `},"done":false}`
}

const done = `{"model":"qwen3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,` +
	`"total_duration":4883583458,"prompt_eval_count":26,"eval_count":298}`

func end(r llm.Reason) llm.End { return llm.End{Reason: r, Model: "qwen3"} }

func text(s string) llm.Text { return llm.Text{Text: s} }

func call(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// diff compares; an id that had to be made stands for itself.
func diff(t *testing.T, name string, want, got any) {
	t.Helper()
	made := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" }, cmp.Comparer(func(a, b string) bool {
		return a == b || a == "made" && len(b) > 20 || b == "made" && len(a) > 20
	}))
	if d := cmp.Diff(want, got, made); d != "" {
		t.Errorf("%s: (-want +got)\n%s", name, d)
	}
}

func TestModel_Stream(t *testing.T) {
	cost := llm.Usage{Input: 26, Output: 298}
	tests := []struct {
		name   string
		client *http.Client
		want   []llm.Part
	}{
		{"text", plays(line(`"content":""`), line(`"content":"a"`), line(`"content":"b"`), done), []llm.Part{text("a"), text("b"), cost, end(llm.Stop)}},
		{"thoughts", plays(line(`"content":"","thinking":"hm"`), line(`"content":"a"`), done), []llm.Part{llm.Reasoning{Text: "hm"}, text("a"), cost, end(llm.Stop)}},
		{
			"calls",
			plays(line(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"b":1,"a":"<"}}},{"function":{"name":"g","arguments":{}}}]`),
				line(`"content":"","tool_calls":[{"function":{"name":"g"}}]`), done),
			[]llm.Part{call("c1", "f", `{"b":1,"a":"<"}`), call("made", "g", `{}`), call("made", "g", `{}`), cost, end(llm.Calls)},
		},
		{"a bound", plays(line(`"content":"a"`), strings.Replace(done, `"stop"`, `"length"`, 1)), []llm.Part{text("a"), cost, end(llm.Length)}},
		{"a model that was only loaded", plays(`{"model":"qwen3","message":{"role":"assistant","content":""},"done_reason":"load","done":true}`), []llm.Part{end(llm.Other)}},
		{"nothing to say", plays(done), []llm.Part{cost, end(llm.Stop)}},
		{"blank lines and none at the end", serves(200, "application/x-ndjson", "\n"+line(`"content":"a"`)+"\n\n"+done), []llm.Part{text("a"), cost, end(llm.Stop)}},
		{"more after the end", plays(line(`"content":"a"`), done, "x"), []llm.Part{text("a"), cost, end(llm.Stop)}},
		{
			"in one piece",
			serves(200, "application/json; charset=utf-8", strings.Replace(done, `"content":""`, `"content":"ab","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{}}}]`, 1)),
			[]llm.Part{llm.Reasoning{Text: "hm"}, text("ab"), call("made", "f", `{}`), cost, end(llm.Calls)},
		},
	}
	for _, tt := range tests {
		got, err := ask(ollama.New(ollama.Config{Client: tt.client}), hello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		diff(t, tt.name, tt.want, got)
	}
}

func TestModel_OtherAnswersAreFaults(t *testing.T) {
	a := line(`"content":"a"`)
	tests := []struct {
		name   string
		client *http.Client
		want   fault.Kind
		parts  int
	}{
		{"a clean end", plays(a), fault.Truncated, 1},
		{"half a line", serves(200, "application/x-ndjson", a+"\n"+a[:40]), fault.Truncated, 1},
		{"half a body", serves(200, "application/json", done[:60]), fault.Truncated, 0},
		{"nothing", serves(200, "application/x-ndjson", ""), fault.Truncated, 0},
		{"nothing but a status", serves(503, "", ""), fault.Overloaded, 0},
		{"a page", serves(200, "text/html", "<html><title>502 Bad Gateway</title></html>"), fault.Unavailable, 0},
		{"an error in a line", plays(`{"error":"an error was encountered while running the model: unexpected EOF"}`), fault.Unavailable, 0},
		{"an error after text", plays(a, `{"error":"an error was encountered while running the model: CUDA error"}`), fault.Unavailable, 1},
		{"an error object of a relay", plays(`{"error":{"message":"the request is too large","code":413}}`), fault.TooLong, 0},
		{"an error in a 200", serves(200, "application/json", `{"error":"server busy, please try again.  maximum pending requests exceeded"}`), fault.Overloaded, 0},
		{"no such model", serves(404, "application/json", `{"error":"model 'x' not found"}`), fault.Invalid, 0},
		{"loading", serves(500, "application/json", `{"error":"llm server loading model"}`), fault.Overloaded, 0},
		{"crashed", serves(500, "application/json", `{"error":"llama runner process has terminated: exit status 2"}`), fault.Unavailable, 0},
		{"too long", serves(400, "application/json", `{"error":"the input length exceeds the context length"}`), fault.TooLong, 0},
		{"memory", serves(500, "application/json", `{"error":"model requires more system memory (9.5 GiB) than is available (3.1 GiB)"}`), fault.Invalid, 0},
		{"not signed in", serves(401, "application/json", `{"error":"unauthorized","signin_url":"https://ollama.com/connect?key=1"}`), fault.Auth, 0},
	}
	for _, tt := range tests {
		got, err := ask(ollama.New(ollama.Config{Client: tt.client}), hello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != tt.want || f.Provider != "ollama" || len(got) != tt.parts {
			t.Errorf("%s: error %#v, parts %v", tt.name, err, got)
		}
	}
}

func TestModel_FaultWrapsTheResponse(t *testing.T) {
	const body = `{"error":"unauthorized","signin_url":"https://ollama.com/connect"}`
	_, err := ask(ollama.New(ollama.Config{Client: serves(401, "application/json", body)}), hello)
	if e, ok := errors.AsType[*provider.ResponseError](err); !ok || e.StatusCode != 401 || string(e.Body) != body {
		t.Errorf("error %#v", err)
	}
}

func TestParseHost(t *testing.T) {
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
		if _, err := ask(ollama.New(ollama.Config{BaseURL: base, Client: listens(&sent, &body)}), hello); err != nil || sent.URL.String() != want {
			t.Errorf("base %q: got %v and error %v, want %s", base, sent.URL, err, want)
		}
	}
	for _, base := range []string{"unix:///run/ollama.sock", "gpu:port", "http://%zz"} {
		_, err := ask(ollama.New(ollama.Config{BaseURL: base, Client: plays(done)}), hello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid {
			t.Errorf("base %q: got error %v, want an invalid request", base, err)
		}
	}
}

func TestModel_IgnoresEnvironment(t *testing.T) {
	t.Setenv("OLLAMA_HOST", "http://elsewhere.test")
	t.Setenv("OLLAMA_AUTH", "true") // the SDK's client would look for a key file, and fail
	t.Setenv("OLLAMA_API_KEY", "ambient")
	t.Setenv("HOME", t.TempDir())
	var sent http.Request
	var body []byte
	_, err := ask(ollama.New(ollama.Config{BaseURL: "https://ollama.com", Client: listens(&sent, &body)}), hello)
	if err != nil || sent.URL.String() != "https://ollama.com/api/chat" || sent.Header.Get("Authorization") != "" {
		t.Errorf("request to %v with header %v, error %v", sent.URL, sent.Header, err)
	}
	_, _ = ask(ollama.New(ollama.Config{Key: "mine", Client: listens(&sent, &body)}), hello)
	if sent.Header.Get("Authorization") != "Bearer mine" {
		t.Errorf("header %v", sent.Header)
	}
}

// sends compares the body of a request with the expected one.
func sends(t *testing.T, c ollama.Config, r llm.Request, want string) {
	t.Helper()
	var sent http.Request
	var body []byte
	c.Client = listens(&sent, &body)
	if _, err := ask(ollama.New(c), r); err != nil {
		t.Fatalf("ask: %v", err)
	}
	var got, wanted any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("unmarshal the request %s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	diff(t, "body", wanted, got)
}

func TestModel_RequestBody(t *testing.T) {
	sends(t, ollama.Config{Model: "qwen3", Context: 32768}, llm.Request{
		System: "Be brief.",
		Messages: []llm.Message{
			llm.UserMessage("Weather?"),
			llm.AssistantMessage(llm.Name{Provider: "ollama"}, llm.Reasoning{Text: "hm"}, text("Let me look."), call("c1", "weather", `{"city":"Bonn"}`), call("c2", "weather", `"{\"city\""`)),
			llm.ToolMessage(llm.ToolResult{ID: "c1", Name: "weather", Output: "rain"}, llm.ToolResult{ID: "c2", Name: "weather", Output: "bad arguments", Failed: true}),
			llm.AssistantMessage(llm.Name{Provider: "gemini"}, llm.Reasoning{Text: "not ours"}, text("Rain.")),
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
	sends(t, ollama.Config{Model: "gpt-oss:20b"}, llm.Request{Messages: hello.Messages, Effort: llm.Low, NoStream: true}, `{
		"model": "gpt-oss:20b", "stream": false, "think": "low", "truncate": false, "shift": false, "options": {},
		"messages": [{"role": "user", "content": "Hello"}]
	}`)
}

func TestModel_UnencodableRequestIsInvalid(t *testing.T) {
	for _, r := range []llm.Request{
		{Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`{`)}}},
		{Messages: []llm.Message{{Role: "system"}}},
	} {
		_, err := ask(ollama.New(ollama.Config{Client: plays(done)}), r)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid {
			t.Errorf("error %v", err)
		}
	}
}

func TestModel_SchemaKeepsItsMembers(t *testing.T) {
	for schema, want := range map[string]string{
		"":     `{"type": "object", "properties": {}}`,
		"null": `{"type": "object", "properties": {}}`,
		`{"$defs":{"d":{}},"additionalProperties":false,"type":null,"properties":{"b":{"anyOf":[{"type":"string"}]}}}`: `
			{"type": "object", "properties": {"b": {"anyOf": [{"type": "string"}]}}, "additionalProperties": false, "$defs": {"d": {}}}`,
	} {
		r := hello
		r.Tools = []llm.Tool{{Name: "f", Schema: json.RawMessage(schema)}}
		sends(t, ollama.Config{Model: "qwen3"}, r, `{
			"model": "qwen3", "stream": true, "truncate": false, "shift": false, "options": {},
			"messages": [{"role": "user", "content": "Hello"}],
			"tools": [{"type": "function", "function": {"name": "f", "parameters": `+want+`}}]
		}`)
	}
}
