package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider/openai"
)

// named returns an event of the Responses API.
func named(kind, members string) string {
	return "event: " + kind + "\n" + events(`{"type":"`+kind+`","sequence_number":0`+members+`}`)
}

// response returns a response at its end.
func response(status, more string, output ...string) string {
	return `{"id":"resp_1","object":"response","model":"m-1","status":"` + status + `","output":[` + strings.Join(output, ",") + `]` + more + `}`
}

const (
	created   = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"error\":null,\"output\":[]}}\n\n"
	spent     = `,"error":null,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":14}`
	thinking  = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAAA"}`
	calling   = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"x\":1}","call_id":"c1","name":"f"}`
	calling2  = `{"id":"fc_2","type":"function_call","status":"completed","arguments":"","call_id":"c2","name":"g"}`
	message   = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ab","annotations":[]}]}`
	refusing  = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`
	searching = `{"id":"ws_1","type":"web_search_call","status":"completed"}`
)

var cost = llm.Usage{Input: 9, Output: 5, CacheRead: 4, Reasoning: 3}

func TestResponses_Stream(t *testing.T) {
	spoken := named("response.output_item.added", `,"output_index":0,"item":{"id":"msg_1","type":"message","content":[]}`) +
		named("response.output_text.delta", `,"output_index":0,"delta":"a"`) + named("response.output_text.delta", `,"output_index":0,"delta":"b"`)
	tests := []struct {
		name   string
		stream string
		want   []llm.Part
	}{
		{
			"text",
			created + spoken + named("response.output_item.done", `,"output_index":0,"item":`+message) + named("response.completed", `,"response":`+response("completed", spent, message)),
			[]llm.Part{text("a"), text("b"), cost, end(llm.Stop)},
		},
		{
			"reasoning and calls, interleaved",
			created + named("response.reasoning_summary_part.added", `,"output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}`) +
				named("response.reasoning_summary_text.delta", `,"output_index":0,"summary_index":0,"delta":"hm"`) +
				named("response.reasoning_summary_part.added", `,"output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}`) +
				named("response.reasoning_summary_text.delta", `,"output_index":0,"summary_index":1,"delta":"so"`) +
				named("response.output_item.done", `,"output_index":0,"item":`+thinking) +
				named("response.function_call_arguments.delta", `,"output_index":1,"delta":"{\"x\""`) +
				named("response.function_call_arguments.delta", `,"output_index":2,"delta":""`) +
				named("response.output_item.done", `,"output_index":2,"item":`+calling2) + named("response.output_item.done", `,"output_index":1,"item":`+calling) +
				named("response.completed", `,"response":`+response("completed", spent, thinking, calling, calling2)),
			[]llm.Part{
				llm.Reasoning{Text: "hm"},
				llm.Reasoning{Text: "\n\n"},
				llm.Reasoning{Text: "so"},
				llm.Reasoning{Signature: "gAAAA"},
				call("c2", "g", `{}`), call("c1", "f", `{"x":1}`), cost, end(llm.Calls),
			},
		},
		{
			"nothing but the end",
			named("response.completed", `,"response":`+response("completed", spent, thinking, searching, message, calling)),
			[]llm.Part{llm.Reasoning{Text: "hm", Signature: "gAAAA"}, text("ab"), call("c1", "f", `{"x":1}`), cost, end(llm.Calls)},
		},
		{
			"a bound",
			created + spoken + named("response.incomplete", `,"response":`+response("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`, message)),
			[]llm.Part{text("a"), text("b"), end(llm.Length)},
		},
		{
			"a filter",
			created + named("response.incomplete", `,"response":`+response("incomplete", `,"error":null,"incomplete_details":{"reason":"content_filter"}`)),
			[]llm.Part{end(llm.Refusal)},
		},
		{
			"a refusal",
			created + named("response.refusal.delta", `,"output_index":0,"delta":"no"`) + named("response.completed", `,"response":`+response("completed", "", refusing)),
			[]llm.Part{text("no"), end(llm.Refusal)},
		},
		{
			"events without names, and a terminator of the other API",
			strings.ReplaceAll(created+spoken+named("response.completed", `,"response":`+response("completed", "", message)), "event: response.", ": ") + events("[DONE]"),
			[]llm.Part{text("a"), text("b"), end(llm.Stop)},
		},
		{"one answer for a stream", response("completed", spent, message), []llm.Part{text("ab"), cost, end(llm.Stop)}},
		{"one answer that is a refusal", response("completed", "", refusing), []llm.Part{text("no"), end(llm.Refusal)}},
	}
	for _, tt := range tests {
		got, err := ask(openai.New(openai.Config{Client: plays(tt.stream)}), hello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		diff(t, tt.name, tt.want, got)
	}
}

func TestResponses_Failures(t *testing.T) {
	delta := named("response.output_text.delta", `,"output_index":0,"delta":"a"`)
	tests := []struct {
		name   string
		stream string
		want   fault.Kind
		parts  int
	}{
		{"clean end", created, fault.Truncated, 0},
		{"clean end after text", created + delta, fault.Truncated, 1},
		{"end in a call", created + named("response.function_call_arguments.delta", `,"output_index":0,"delta":"{"`), fault.Truncated, 0},
		{"terminator of the other API", created + delta + events("[DONE]"), fault.Truncated, 1},
		{"failed", created + named("response.failed", `,"response":`+response("failed", `,"error":{"code":"server_error","message":"gone"}`)), fault.Unavailable, 0},
		{"failed for the rate", created + named("response.failed", `,"response":`+response("failed", `,"error":{"code":"rate_limit_exceeded","message":"Please try again in 11.054s."}`)), fault.RateLimited, 0},
		{"incomplete with an error", created + delta + named("response.incomplete", `,"response":`+response("incomplete", `,"error":{"code":"server_error","message":"gone"}`)), fault.Unavailable, 1},
		{"error as it comes", created + named("error", `,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}`), fault.TooLong, 0},
		{"error as its page has it", created + named("error", `,"code":"server_error","message":"gone"`), fault.Unavailable, 0},
		{"error without a name", events(`{"type":"error","code":"rate_limit_exceeded","message":"again"}`), fault.RateLimited, 0},
		{"failed in one piece", response("failed", `,"error":{"code":"server_error","message":"gone"}`, message), fault.Unavailable, 0},
		{"not ready in one piece", response("in_progress", `,"error":null`), fault.Truncated, 0},
	}
	for _, tt := range tests {
		client := plays(tt.stream)
		if tt.stream[0] == '{' {
			client = serves(200, "application/json", tt.stream)
		}
		got, err := ask(openai.New(openai.Config{Client: client}), hello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != tt.want || len(got) != tt.parts {
			t.Errorf("%s: error %#v, parts %v", tt.name, err, got)
		}
	}
}

func TestResponses_RequestBody(t *testing.T) {
	sends(t, openai.Config{Model: "gpt-5", Summaries: true}, conversation, `{
		"model": "gpt-5", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "max_output_tokens": 100,
		"reasoning": {"effort": "low", "summary": "auto"}, "instructions": "Be brief.",
		"input": [
			{"role": "user", "content": "Weather?"},
			{"type": "reasoning", "summary": [], "encrypted_content": "gAAAA-1"},
			{"role": "assistant", "content": "Let me look."},
			{"type": "reasoning", "summary": [], "encrypted_content": "gAAAA-2"},
			{"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Bonn\"}"},
			{"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "{\"city\""},
			{"type": "function_call_output", "call_id": "c1", "output": "rain"},
			{"type": "function_call_output", "call_id": "c2", "output": "bad arguments"},
			{"role": "assistant", "content": "Rain."},
			{"role": "user", "content": "And now?"},
			{"type": "function_call", "call_id": "c3", "name": "now", "arguments": "{}"},
			{"type": "function_call_output", "call_id": "c3", "output": "noon"}],
		"tools": [
			{"type": "function", "name": "weather", "description": "The weather.", "strict": false,
				"parameters": {"type": "object", "properties": {"city": {"type": "string"}, "at": {"type": "string"}}}},
			{"type": "function", "name": "now", "strict": false, "parameters": {"type": "object", "properties": {}}}]
	}`)
}

func TestResponses_OldModelsWithoutReasoning(t *testing.T) {
	for _, model := range []string{"gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo", "chatgpt-4o-latest", "gpt-5-chat-latest", "ft:gpt-4.1:x"} {
		sends(t, openai.Config{Model: model}, llm.Request{Messages: hello.Messages, NoStream: true},
			`{"model": "`+model+`", "store": false, "input": [{"role": "user", "content": "Hello"}]}`)
	}
	sends(t, openai.Config{Model: "o4-mini"}, llm.Request{Messages: hello.Messages},
		`{"model": "o4-mini", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "input": [{"role": "user", "content": "Hello"}]}`)
}
