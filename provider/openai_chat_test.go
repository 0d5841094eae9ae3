package provider_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// chunk returns a chunk with one choice.
func openaiChunk(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

// unnamed is a chunk of a server that names no reasons.
var openaiUnnamed = strings.Replace(openaiChunk(`{"content":"a"}`, "null"), `,"finish_reason":null`, "", 1)

const openaiChatUsage = `{"id":"1","model":"m-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,` +
	`"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}`

// call returns a part for comparison.
func openaiCall(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func openaiEnd(r llm.Reason) llm.End { return llm.End{Reason: r, Model: "m-1"} }

func openaiText(s string) llm.Text { return llm.Text{Text: s} }

const openaiRole = `{"role":"assistant","content":"","refusal":null}`

func TestChat_Stream(t *testing.T) {
	tests := []struct {
		name   string
		stream string
		want   []llm.Part
	}{
		{
			"text with usage in a last chunk without choices",
			openaiEvents(openaiChunk(openaiRole, "null"), openaiChunk(`{"content":"a"}`, "null"), openaiChunk(`{"content":"b"}`, "null"), openaiChunk(`{}`, "stop"), openaiChatUsage, "[DONE]"),
			[]llm.Part{openaiText("a"), openaiText("b"), llm.Usage{Input: 9, Output: 5, CacheRead: 4, Reasoning: 3}, openaiEnd(llm.Stop)},
		},
		{"no terminator after a finish_reason", openaiEvents(openaiChunk(`{"content":"a"}`, "stop")), []llm.Part{openaiText("a"), openaiEnd(llm.Stop)}},
		{"no finish_reason at all", openaiEvents(openaiUnnamed, "[DONE]"), []llm.Part{openaiText("a"), openaiEnd(llm.Stop)}},
		{"no blank line at the end", strings.TrimSpace(openaiEvents(openaiUnnamed, "[DONE]")), []llm.Part{openaiText("a"), openaiEnd(llm.Stop)}},
		{"nothing to say", openaiEvents(openaiChunk(openaiRole, "null"), openaiChunk(`{}`, "stop"), "[DONE]"), []llm.Part{openaiEnd(llm.Stop)}},
		{"comments between", ": OPENROUTER PROCESSING\n\n" + openaiEvents(openaiChunk(`{"content":"a"}`, "length")), []llm.Part{openaiText("a"), openaiEnd(llm.Length)}},
		{"a null for an error", openaiEvents(strings.Replace(openaiChunk(`{"content":"a"}`, "stop"), `{`, `{"error":null,`, 1)), []llm.Part{openaiText("a"), openaiEnd(llm.Stop)}},
		{"a filter", openaiEvents(openaiChunk(`{"content":"a"}`, "content_filter")), []llm.Part{openaiText("a"), openaiEnd(llm.Refusal)}},
		{"a refusal", openaiEvents(openaiChunk(`{"refusal":"no"}`, "stop")), []llm.Part{openaiText("no"), openaiEnd(llm.Refusal)}},
		{"a reason of its own", openaiEvents(openaiChunk(`{"content":"a"}`, "eos")), []llm.Part{openaiText("a"), openaiEnd(llm.Other)}},
		{"another choice", openaiEvents(strings.Replace(openaiChunk(`{"content":"b"}`, "null"), `"index":0`, `"index":1`, 1), openaiChunk(`{"content":"a"}`, "stop")), []llm.Part{openaiText("a"), openaiEnd(llm.Stop)}},
		{
			"reasoning that has to go back",
			openaiEvents(openaiChunk(`{"reasoning_content":"h"}`, "null"), openaiChunk(`{"reasoning_content":"m","content":null}`, "null"), openaiChunk(`{"content":"a","reasoning_content":null}`, "stop")),
			[]llm.Part{llm.Reasoning{Text: "h"}, llm.Reasoning{Text: "m"}, llm.Reasoning{Signature: "reasoning_content"}, openaiText("a"), openaiEnd(llm.Stop)},
		},
		{
			"reasoning that has not",
			openaiEvents(openaiChunk(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`, "null"), openaiChunk(`{"content":"a"}`, "stop")),
			[]llm.Part{llm.Reasoning{Text: "hm"}, openaiText("a"), openaiEnd(llm.Stop)},
		},
		{
			"content in parts",
			openaiEvents(openaiChunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, "null"), openaiChunk(`{"content":[{"type":"text","text":"a"}]}`, "null"), openaiChunk(`{"content":"b"}`, "stop")),
			[]llm.Part{llm.Reasoning{Text: "hm"}, openaiText("a"), openaiText("b"), openaiEnd(llm.Stop)},
		},
		{"one answer for a stream", `{"model":"m-1","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, []llm.Part{openaiText("a"), openaiEnd(llm.Stop)}},
	}
	for _, tt := range tests {
		got, err := openaiAsk(provider.OpenAI(provider.Config{API: provider.Chat, Client: openaiPlays(tt.stream)}), openaiHello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		openaiDiff(t, tt.name, tt.want, got)
	}
}

// piece returns a delta with pieces of calls.
func openaiPiece(calls ...string) string { return `{"tool_calls":[` + strings.Join(calls, ",") + `]}` }

func TestChat_AssemblesToolCalls(t *testing.T) {
	tests := []struct {
		name   string
		deltas []string
		want   []llm.Part
	}{
		{"by index, interleaved", []string{
			openaiPiece(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
			openaiPiece(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\""}}`),
			openaiPiece(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"function":{"arguments":":2}"}}`),
		}, []llm.Part{openaiCall("a", "f", `{"x":1}`), openaiCall("b", "g", `{"y":2}`)}},
		{"whole, with id and without index", []string{
			openaiPiece(`{"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"id":"b","function":{"name":"f","arguments":"{}"}}`),
		}, []llm.Part{openaiCall("a", "f", `{}`), openaiCall("b", "f", `{}`)}},
		{"whole, without id and index", []string{
			openaiPiece(`{"function":{"name":"f","arguments":"{\"x\":1}"}}`), openaiPiece(`{"function":{"name":"f","arguments":"{\"x\":2}"}}`),
		}, []llm.Part{openaiCall("?", "f", `{"x":1}`), openaiCall("?", "f", `{"x":2}`)}},
		{"id and name in each piece", []string{
			openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`),
		}, []llm.Part{openaiCall("a", "f", `{"x":1}`)}},
		{"the same id twice", []string{
			openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}`),
		}, []llm.Part{openaiCall("a", "f", `{}`), openaiCall("?", "g", `{}`)}},
		{"an id of the conversation", []string{
			openaiPiece(`{"index":0,"id":"old","function":{"name":"f","arguments":"{}"}}`),
		}, []llm.Part{openaiCall("?", "f", `{}`)}},
		{"no arguments", []string{openaiPiece(`{"index":0,"id":"a","function":{"name":"f"}}`)}, []llm.Part{openaiCall("a", "f", `{}`)}},
		{"no JSON", []string{openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`)}, []llm.Part{openaiCall("a", "f", `"{\"x\":"`)}},
	}
	asked := llm.Request{Messages: []llm.Message{llm.UserMessage("x"), llm.AssistantMessage(llm.Name{}, openaiCall("old", "f", `{}`)), llm.ToolMessage(llm.ToolResult{ID: "old"})}}
	anyID := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" }, cmp.Comparer(func(a, b string) bool {
		return a == b || a == "?" && len(b) > 20 || b == "?" && len(a) > 20
	}))
	for _, tt := range tests {
		for _, finish := range []string{"tool_calls", "stop"} {
			var all []string
			for _, d := range tt.deltas {
				all = append(all, openaiChunk(d, "null"))
			}
			stream := openaiEvents(append(all, openaiChunk(`{}`, finish), "[DONE]")...)
			got, err := openaiAsk(provider.OpenAI(provider.Config{API: provider.Chat, Client: openaiPlays(stream)}), asked)
			if d := cmp.Diff(append(tt.want[:len(tt.want):len(tt.want)], openaiEnd(llm.Calls)), got, anyID); d != "" || err != nil {
				t.Errorf("%s, finish %s: error %v (-want +got)\n%s", tt.name, finish, err, d)
			}
		}
	}
}

func TestChat_BrokenOffIsTruncated(t *testing.T) {
	for name, stream := range map[string]string{
		"before anything":         "",
		"after the role":          openaiEvents(openaiChunk(openaiRole, "null")),
		"after text":              openaiEvents(openaiChunk(`{"content":"a"}`, "null")),
		"in a call":               openaiEvents(openaiChunk(openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), "null")),
		"after a whole call":      openaiEvents(openaiChunk(openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), "null")),
		"in a chunk":              openaiEvents(openaiChunk(`{"content":"a"}`, "null")) + `data: {"choices":[{"delta":{"content":"b`,
		"a terminator alone":      openaiEvents("[DONE]"),
		"a terminator after role": openaiEvents(openaiChunk(openaiRole, "null"), "[DONE]"),
		"no reason to finish":     openaiEvents(openaiChunk(`{"content":"a"}`, "null"), "[DONE]"),
	} {
		got, err := openaiAsk(provider.OpenAI(provider.Config{API: provider.Chat, Client: openaiPlays(stream)}), openaiHello)
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
		{openaiEvents(`{"error":{"message":"The server is overloaded","type":"server_error","code":"server_is_overloaded"}}`), fault.Overloaded},
		{openaiEvents(openaiChunk(openaiRole, "null"), `{"error":"Model unloaded."}`), fault.Overloaded},
		{"event: error\n" + openaiEvents(`{"message":"The model has crashed without additional information. (Exit code: 6)"}`), fault.Unavailable},
		{"event: error\n" + openaiEvents(`{"error":{"message":"Context overflows"},"message":"Context overflows"}`), fault.TooLong},
		{openaiEvents(openaiChunk(`{"content":""}`, "error")), fault.Unavailable},
		{openaiEvents(`{"id":"1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":429,"message":"Provider returned error"}}`), fault.Unavailable},
	}
	for _, tt := range tests {
		got, err := openaiAsk(provider.OpenAI(provider.Config{API: provider.Chat, Client: openaiPlays(tt.stream)}), openaiHello)
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
	got, err := openaiAsk(provider.OpenAI(provider.Config{API: provider.Chat, Client: openaiServes(200, "application/json", "\n   \n"+body)}), llm.Request{NoStream: true})
	if err != nil {
		t.Errorf("ask: %v", err)
	}
	openaiDiff(t, "whole", []llm.Part{
		llm.Reasoning{Text: "hm"},
		llm.Reasoning{Signature: "reasoning_content"},
		openaiText("a"), openaiCall("1", "f", `{"x":1}`), openaiCall("2", "g", `{}`),
		llm.Usage{Input: 9, Output: 5},
		openaiEnd(llm.Calls),
	}, got)
}

// conversation is one of everything.
var openaiConversation = llm.Request{
	System: "Be brief.",
	Messages: []llm.Message{
		llm.UserMessage("Weather?"),
		llm.AssistantMessage(
			llm.Name{Provider: "openai"}, llm.Reasoning{Text: "old", Signature: "reasoning_content"}, llm.Reasoning{Text: "hm", Signature: "gAAAA-1"},
			openaiText("Let me look."), llm.Reasoning{Signature: "gAAAA-2"}, openaiCall("c1", "weather", `{"city":"Bonn"}`), openaiCall("c2", "weather", `"{\"city\""`),
		),
		llm.ToolMessage(llm.ToolResult{ID: "c1", Name: "weather", Output: "rain"}, llm.ToolResult{ID: "c2", Name: "weather", Output: "bad arguments", Failed: true}),
		llm.AssistantMessage(llm.Name{Provider: "openai"}, openaiText("Rain."), llm.Reasoning{Signature: "gAAAA-3"}),
		llm.AssistantMessage(llm.Name{Provider: "gemini"}, llm.Reasoning{Text: "not ours", Signature: "x"}),
		llm.UserMessage("And now?"),
		llm.AssistantMessage(llm.Name{Provider: "openai"}, llm.Reasoning{Text: "new", Signature: "reasoning_content"}, openaiCall("c3", "now", `{}`)),
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
func openaiSends(t *testing.T, c provider.Config, r llm.Request, want string) {
	t.Helper()
	var sent http.Request
	var body []byte
	c.Client = openaiListens(&sent, &body)
	_, _ = openaiAsk(provider.OpenAI(c), r)
	var got, wanted any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("unmarshal the request %s: %v", body, err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	openaiDiff(t, "body", wanted, got)
}

func TestChat_RequestBody(t *testing.T) {
	openaiSends(t, provider.Config{Model: "m", API: provider.Chat}, openaiConversation, `{
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
	r := llm.Request{Messages: openaiHello.Messages, MaxTokens: 7, NoStream: true}
	openaiSends(t, provider.Config{Model: "m", BaseURL: "http://127.0.0.1:8000/v1"}, r, `{"model": "m", "max_tokens": 7, "messages": [{"role": "user", "content": "Hello"}]}`)
	openaiSends(t, provider.Config{Model: "m", BaseURL: "https://me.openai.azure.com/openai/v1"}, r, `{"model": "m", "max_completion_tokens": 7, "messages": [{"role": "user", "content": "Hello"}]}`)
}

func TestOpenAI_SchemaIsUnchanged(t *testing.T) {
	for _, api := range openaiApis {
		var sent http.Request
		var body []byte
		_, _ = openaiAsk(provider.OpenAI(provider.Config{API: api, Client: openaiListens(&sent, &body)}), openaiConversation)
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
			openaiEvents(openaiChunk(openaiPiece(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`), "tool_calls")),
			[]llm.Part{openaiCall("a", "f", `{"x":1}`), openaiEnd(llm.Calls)},
		},
		{
			"arguments that are null",
			`{"model":"m-1","choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":null}}]},"finish_reason":"stop"}]}`,
			[]llm.Part{openaiCall("a", "f", `{}`), openaiEnd(llm.Calls)},
		},
		{
			"an index that is a text, and a usage with fractions",
			openaiEvents(strings.Replace(openaiChunk(`{"content":"a"}`, "stop"), `"index":0`, `"index":"0"`, 1), `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2.5}}`),
			[]llm.Part{openaiText("a"), llm.Usage{Input: 9}, openaiEnd(llm.Stop)},
		},
		{"content that is a number", openaiEvents(openaiChunk(`{"content":7}`, "null"), openaiChunk(`{"content":"a"}`, "stop")), []llm.Part{openaiText("a"), openaiEnd(llm.Stop)}},
	}
	for _, tt := range tests {
		got, err := openaiAsk(provider.OpenAI(provider.Config{API: provider.Chat, Client: openaiPlays(tt.in)}), openaiHello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		openaiDiff(t, tt.name, tt.want, got)
	}
}
