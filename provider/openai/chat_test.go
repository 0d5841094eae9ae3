package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider/openai"
)

// chunk returns a chunk with one choice.
func chunk(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

const chatUsage = `{"id":"1","model":"m-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,` +
	`"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}`

// call returns a part for comparison.
func call(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func end(r llm.Reason) llm.End { return llm.End{Reason: r, Model: "m-1"} }

func text(s string) llm.Text { return llm.Text{Text: s} }

const role = `{"role":"assistant","content":"","refusal":null}`

func TestChat_Stream(t *testing.T) {
	tests := []struct {
		name   string
		stream string
		want   []llm.Part
	}{
		{
			"text with usage in a last chunk without choices",
			events(chunk(role, "null"), chunk(`{"content":"a"}`, "null"), chunk(`{"content":"b"}`, "null"), chunk(`{}`, "stop"), chatUsage, "[DONE]"),
			[]llm.Part{text("a"), text("b"), llm.Usage{Input: 9, Output: 5, CacheRead: 4, Reasoning: 3}, end(llm.Stop)},
		},
		{"no terminator after a finish_reason", events(chunk(`{"content":"a"}`, "stop")), []llm.Part{text("a"), end(llm.Stop)}},
		{"no finish_reason before the terminator", events(chunk(`{"content":"a"}`, "null"), "[DONE]"), []llm.Part{text("a"), end(llm.Stop)}},
		{"no blank line at the end", strings.TrimSpace(events(chunk(`{"content":"a"}`, "null"), "[DONE]")), []llm.Part{text("a"), end(llm.Stop)}},
		{"nothing to say", events(chunk(role, "null"), chunk(`{}`, "stop"), "[DONE]"), []llm.Part{end(llm.Stop)}},
		{"comments between", ": OPENROUTER PROCESSING\n\n" + events(chunk(`{"content":"a"}`, "length")), []llm.Part{text("a"), end(llm.Length)}},
		{"a null for an error", events(strings.Replace(chunk(`{"content":"a"}`, "stop"), `{`, `{"error":null,`, 1)), []llm.Part{text("a"), end(llm.Stop)}},
		{"a filter", events(chunk(`{"content":"a"}`, "content_filter")), []llm.Part{text("a"), end(llm.Refusal)}},
		{"a refusal", events(chunk(`{"refusal":"no"}`, "stop")), []llm.Part{text("no"), end(llm.Refusal)}},
		{"a reason of its own", events(chunk(`{"content":"a"}`, "eos")), []llm.Part{text("a"), end(llm.Other)}},
		{"another choice", events(strings.Replace(chunk(`{"content":"b"}`, "null"), `"index":0`, `"index":1`, 1), chunk(`{"content":"a"}`, "stop")), []llm.Part{text("a"), end(llm.Stop)}},
		{
			"reasoning that has to go back",
			events(chunk(`{"reasoning_content":"h"}`, "null"), chunk(`{"reasoning_content":"m","content":null}`, "null"), chunk(`{"content":"a","reasoning_content":null}`, "stop")),
			[]llm.Part{llm.Reasoning{Text: "h"}, llm.Reasoning{Text: "m"}, llm.Reasoning{Signature: "reasoning_content"}, text("a"), end(llm.Stop)},
		},
		{
			"reasoning that has not",
			events(chunk(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`, "null"), chunk(`{"content":"a"}`, "stop")),
			[]llm.Part{llm.Reasoning{Text: "hm"}, text("a"), end(llm.Stop)},
		},
		{
			"content in parts",
			events(chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, "null"), chunk(`{"content":[{"type":"text","text":"a"}]}`, "null"), chunk(`{"content":"b"}`, "stop")),
			[]llm.Part{llm.Reasoning{Text: "hm"}, text("a"), text("b"), end(llm.Stop)},
		},
		{"one answer for a stream", `{"model":"m-1","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, []llm.Part{text("a"), end(llm.Stop)}},
	}
	for _, tt := range tests {
		got, err := ask(openai.New(openai.Config{API: openai.Chat, Client: plays(tt.stream)}), hello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		diff(t, tt.name, tt.want, got)
	}
}

// piece returns a delta with pieces of calls.
func piece(calls ...string) string { return `{"tool_calls":[` + strings.Join(calls, ",") + `]}` }

func TestChat_AssemblesToolCalls(t *testing.T) {
	tests := []struct {
		name   string
		deltas []string
		want   []llm.Part
	}{
		{"by index, interleaved", []string{
			piece(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
			piece(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\""}}`),
			piece(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"function":{"arguments":":2}"}}`),
		}, []llm.Part{call("a", "f", `{"x":1}`), call("b", "g", `{"y":2}`)}},
		{"whole, with id and without index", []string{
			piece(`{"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"id":"b","function":{"name":"f","arguments":"{}"}}`),
		}, []llm.Part{call("a", "f", `{}`), call("b", "f", `{}`)}},
		{"whole, without id and index", []string{
			piece(`{"function":{"name":"f","arguments":"{\"x\":1}"}}`), piece(`{"function":{"name":"f","arguments":"{\"x\":2}"}}`),
		}, []llm.Part{call("?", "f", `{"x":1}`), call("?", "f", `{"x":2}`)}},
		{"id and name in each piece", []string{
			piece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), piece(`{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`),
		}, []llm.Part{call("a", "f", `{"x":1}`)}},
		{"the same id twice", []string{
			piece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}`),
		}, []llm.Part{call("a", "f", `{}`), call("?", "g", `{}`)}},
		{"an id of the conversation", []string{
			piece(`{"index":0,"id":"old","function":{"name":"f","arguments":"{}"}}`),
		}, []llm.Part{call("?", "f", `{}`)}},
		{"no arguments", []string{piece(`{"index":0,"id":"a","function":{"name":"f"}}`)}, []llm.Part{call("a", "f", `{}`)}},
		{"no JSON", []string{piece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`)}, []llm.Part{call("a", "f", `"{\"x\":"`)}},
	}
	asked := llm.Request{Messages: []llm.Message{llm.UserMessage("x"), llm.AssistantMessage(llm.Name{}, call("old", "f", `{}`)), llm.ToolMessage(llm.ToolResult{ID: "old"})}}
	anyID := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" }, cmp.Comparer(func(a, b string) bool {
		return a == b || a == "?" && len(b) > 20 || b == "?" && len(a) > 20
	}))
	for _, tt := range tests {
		for _, finish := range []string{"tool_calls", "stop"} {
			var all []string
			for _, d := range tt.deltas {
				all = append(all, chunk(d, "null"))
			}
			stream := events(append(all, chunk(`{}`, finish), "[DONE]")...)
			got, err := ask(openai.New(openai.Config{API: openai.Chat, Client: plays(stream)}), asked)
			if d := cmp.Diff(append(tt.want[:len(tt.want):len(tt.want)], end(llm.Calls)), got, anyID); d != "" || err != nil {
				t.Errorf("%s, finish %s: error %v (-want +got)\n%s", tt.name, finish, err, d)
			}
		}
	}
}

func TestChat_BrokenOffIsTruncated(t *testing.T) {
	for name, stream := range map[string]string{
		"before anything":         "",
		"after the role":          events(chunk(role, "null")),
		"after text":              events(chunk(`{"content":"a"}`, "null")),
		"in a call":               events(chunk(piece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), "null")),
		"after a whole call":      events(chunk(piece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), "null")),
		"in a chunk":              events(chunk(`{"content":"a"}`, "null")) + `data: {"choices":[{"delta":{"content":"b`,
		"a terminator alone":      events("[DONE]"),
		"a terminator after role": events(chunk(role, "null"), "[DONE]"),
	} {
		got, err := ask(openai.New(openai.Config{API: openai.Chat, Client: plays(stream)}), hello)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.Truncated || f.Status != 200 {
			t.Errorf("%s: got error %v, want a truncated answer with status 200", name, err)
		}
		for _, p := range got {
			if _, ok := p.(llm.Text); !ok {
				t.Errorf("%s: got %v, want text only", name, got)
			}
		}
	}
}

func TestChat_ErrorEvents(t *testing.T) {
	tests := []struct {
		stream string
		want   fault.Kind
	}{
		{events(`{"error":{"message":"The server is overloaded","type":"server_error","code":"server_is_overloaded"}}`), fault.Overloaded},
		{events(chunk(role, "null"), `{"error":"Model unloaded."}`), fault.Overloaded},
		{"event: error\n" + events(`{"message":"The model has crashed without additional information. (Exit code: 6)"}`), fault.Unavailable},
		{"event: error\n" + events(`{"error":{"message":"Context overflows"},"message":"Context overflows"}`), fault.TooLong},
		{events(chunk(`{"content":""}`, "error")), fault.Unavailable},
		{events(`{"id":"1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":429,"message":"Provider returned error"}}`), fault.Unavailable},
	}
	for _, tt := range tests {
		got, err := ask(openai.New(openai.Config{API: openai.Chat, Client: plays(tt.stream)}), hello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != tt.want || f.Err == nil || len(got) != 0 {
			t.Errorf("%s: error %#v, parts %v", tt.stream, err, got)
		}
	}
}

func TestChat_NoStream(t *testing.T) {
	const body = `{"id":"1","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"a",` +
		`"reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},` +
		`{"id":"2","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":9,"completion_tokens":5}}`
	got, err := ask(openai.New(openai.Config{API: openai.Chat, Client: serves(200, "application/json", "\n   \n"+body)}), llm.Request{NoStream: true})
	if err != nil {
		t.Errorf("ask: %v", err)
	}
	diff(t, "whole", []llm.Part{
		llm.Reasoning{Text: "hm"},
		llm.Reasoning{Signature: "reasoning_content"},
		text("a"), call("1", "f", `{"x":1}`), call("2", "g", `{}`),
		llm.Usage{Input: 9, Output: 5},
		end(llm.Calls),
	}, got)
}

// conversation is one of everything.
var conversation = llm.Request{
	System: "Be brief.",
	Messages: []llm.Message{
		llm.UserMessage("Weather?"),
		llm.AssistantMessage(
			llm.Name{Provider: "openai"}, llm.Reasoning{Text: "old", Signature: "reasoning_content"}, llm.Reasoning{Text: "hm", Signature: "gAAAA-1"},
			text("Let me look."), llm.Reasoning{Signature: "gAAAA-2"}, call("c1", "weather", `{"city":"Bonn"}`), call("c2", "weather", `"{\"city\""`),
		),
		llm.ToolMessage(llm.ToolResult{ID: "c1", Name: "weather", Output: "rain"}, llm.ToolResult{ID: "c2", Name: "weather", Output: "bad arguments", Failed: true}),
		llm.AssistantMessage(llm.Name{Provider: "openai"}, text("Rain."), llm.Reasoning{Signature: "gAAAA-3"}),
		llm.AssistantMessage(llm.Name{Provider: "gemini"}, llm.Reasoning{Text: "not ours", Signature: "x"}),
		llm.UserMessage("And now?"),
		llm.AssistantMessage(llm.Name{Provider: "openai"}, llm.Reasoning{Text: "new", Signature: "reasoning_content"}, call("c3", "now", `{}`)),
		llm.ToolMessage(llm.ToolResult{ID: "c3", Name: "now", Output: "noon"}),
	},
	Tools: []llm.Tool{
		{Name: "weather", Description: "The weather.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"at":{"type":"string"}}}`)},
		{Name: "now"},
	},
	MaxTokens: 100,
	Effort:    llm.Low,
}

// sends compares the body of a request with the expected one.
func sends(t *testing.T, c openai.Config, r llm.Request, want string) {
	t.Helper()
	var sent http.Request
	var body []byte
	c.Client = listens(&sent, &body)
	_, _ = ask(openai.New(c), r)
	var got, wanted any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("unmarshal the request %s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	diff(t, "body", wanted, got)
}

func TestChat_RequestBody(t *testing.T) {
	sends(t, openai.Config{Model: "m", API: openai.Chat}, conversation, `{
		"model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_completion_tokens": 100, "reasoning_effort": "low",
		"messages": [
			{"role": "system", "content": "Be brief."},
			{"role": "user", "content": "Weather?"},
			{"role": "assistant", "content": "Let me look.", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Bonn\"}"}},
				{"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{\"city\""}}]},
			{"role": "tool", "tool_call_id": "c1", "content": "rain"},
			{"role": "tool", "tool_call_id": "c2", "content": "bad arguments"},
			{"role": "assistant", "content": "Rain."},
			{"role": "user", "content": "And now?"},
			{"role": "assistant", "reasoning_content": "new", "tool_calls": [
				{"id": "c3", "type": "function", "function": {"name": "now", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "c3", "content": "noon"}],
		"tools": [
			{"type": "function", "function": {"name": "weather", "description": "The weather.",
				"parameters": {"type": "object", "properties": {"city": {"type": "string"}, "at": {"type": "string"}}}}},
			{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]
	}`)
}

func TestChat_MaxTokensAtOtherServers(t *testing.T) {
	r := llm.Request{Messages: hello.Messages, MaxTokens: 7, NoStream: true}
	sends(t, openai.Config{Model: "m", BaseURL: "http://127.0.0.1:8000/v1"}, r, `{"model": "m", "max_tokens": 7, "messages": [{"role": "user", "content": "Hello"}]}`)
	sends(t, openai.Config{Model: "m", BaseURL: "https://me.openai.azure.com/openai/v1"}, r, `{"model": "m", "max_completion_tokens": 7, "messages": [{"role": "user", "content": "Hello"}]}`)
}

func TestModel_SchemaIsUnchanged(t *testing.T) {
	for _, api := range apis {
		var sent http.Request
		var body []byte
		_, _ = ask(openai.New(openai.Config{API: api, Client: listens(&sent, &body)}), conversation)
		if !strings.Contains(string(body), `{"type":"object","properties":{"city":{"type":"string"},"at":{"type":"string"}}}`) {
			t.Errorf("request of %s: got %s, want the schema in the order of its properties", api, body)
		}
	}
}

func TestChat_MembersOfOtherTypes(t *testing.T) {
	tests := []struct {
		name string
		in   string // a stream, or one body
		want []llm.Part
	}{
		{
			"arguments that are an object",
			events(chunk(piece(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`), "tool_calls")),
			[]llm.Part{call("a", "f", `{"x":1}`), end(llm.Calls)},
		},
		{
			"arguments that are null",
			`{"model":"m-1","choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":null}}]},"finish_reason":"stop"}]}`,
			[]llm.Part{call("a", "f", `{}`), end(llm.Calls)},
		},
		{
			"an index that is a text, and a usage with fractions",
			events(strings.Replace(chunk(`{"content":"a"}`, "stop"), `"index":0`, `"index":"0"`, 1), `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2.5}}`),
			[]llm.Part{text("a"), llm.Usage{Input: 9}, end(llm.Stop)},
		},
		{"content that is a number", events(chunk(`{"content":7}`, "null"), chunk(`{"content":"a"}`, "stop")), []llm.Part{text("a"), end(llm.Stop)}},
	}
	for _, tt := range tests {
		got, err := ask(openai.New(openai.Config{API: openai.Chat, Client: plays(tt.in)}), hello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		diff(t, tt.name, tt.want, got)
	}
}
