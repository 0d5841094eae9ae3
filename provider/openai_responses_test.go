package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// named returns an event of the Responses API.
func openaiNamed(kind, members string) string {
	return "event: " + kind + "\n" + openaiEvents(`{"type":"`+kind+`","sequence_number":0`+members+`}`)
}

// response returns a response at its end.
func openaiResponse(status, more string, output ...string) string {
	return `{"id":"resp_1","object":"response","model":"m-1","status":"` + status + `","output":[` + strings.Join(output, ",") + `]` + more + `}`
}

const (
	openaiCreated   = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"error\":null,\"output\":[]}}\n\n"
	openaiSpent     = `,"error":null,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":14}`
	openaiThinking  = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAAA"}`
	openaiCalling   = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"x\":1}","call_id":"c1","name":"f"}`
	openaiCalling2  = `{"id":"fc_2","type":"function_call","status":"completed","arguments":"","call_id":"c2","name":"g"}`
	openaiMessage   = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ab","annotations":[]}]}`
	openaiRefusing  = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`
	openaiSearching = `{"id":"ws_1","type":"web_search_call","status":"completed"}`
)

var openaiCost = llm.Usage{Input: 9, Output: 5, CacheRead: 4, Reasoning: 3}

func TestResponses_Stream(t *testing.T) {
	spoken := openaiNamed("response.output_item.added", `,"output_index":0,"item":{"id":"msg_1","type":"message","content":[]}`) +
		openaiNamed("response.output_text.delta", `,"output_index":0,"delta":"a"`) + openaiNamed("response.output_text.delta", `,"output_index":0,"delta":"b"`)
	tests := []struct {
		name   string
		stream string
		want   []llm.Part
	}{
		{
			"text",
			openaiCreated + spoken + openaiNamed("response.output_item.done", `,"output_index":0,"item":`+openaiMessage) + openaiNamed("response.completed", `,"response":`+openaiResponse("completed", openaiSpent, openaiMessage)),
			[]llm.Part{openaiText("a"), openaiText("b"), openaiCost, openaiEnd(llm.Stop)},
		},
		{
			"reasoning and calls, interleaved",
			openaiCreated + openaiNamed("response.reasoning_summary_part.added", `,"output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}`) +
				openaiNamed("response.reasoning_summary_text.delta", `,"output_index":0,"summary_index":0,"delta":"hm"`) +
				openaiNamed("response.reasoning_summary_part.added", `,"output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}`) +
				openaiNamed("response.reasoning_summary_text.delta", `,"output_index":0,"summary_index":1,"delta":"so"`) +
				openaiNamed("response.output_item.done", `,"output_index":0,"item":`+openaiThinking) +
				openaiNamed("response.function_call_arguments.delta", `,"output_index":1,"delta":"{\"x\""`) +
				openaiNamed("response.function_call_arguments.delta", `,"output_index":2,"delta":""`) +
				openaiNamed("response.output_item.done", `,"output_index":2,"item":`+openaiCalling2) + openaiNamed("response.output_item.done", `,"output_index":1,"item":`+openaiCalling) +
				openaiNamed("response.completed", `,"response":`+openaiResponse("completed", openaiSpent, openaiThinking, openaiCalling, openaiCalling2)),
			[]llm.Part{
				llm.Reasoning{Text: "hm"},
				llm.Reasoning{Text: "\n\n"},
				llm.Reasoning{Text: "so"},
				llm.Reasoning{Signature: "gAAAA"},
				openaiCall("c2", "g", `{}`), openaiCall("c1", "f", `{"x":1}`), openaiCost, openaiEnd(llm.Calls),
			},
		},
		{
			"nothing but the end",
			openaiNamed("response.completed", `,"response":`+openaiResponse("completed", openaiSpent, openaiThinking, openaiSearching, openaiMessage, openaiCalling)),
			[]llm.Part{llm.Reasoning{Text: "hm", Signature: "gAAAA"}, openaiText("ab"), openaiCall("c1", "f", `{"x":1}`), openaiCost, openaiEnd(llm.Calls)},
		},
		{
			"a bound",
			openaiCreated + spoken + openaiNamed("response.incomplete", `,"response":`+openaiResponse("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`, openaiMessage)),
			[]llm.Part{openaiText("a"), openaiText("b"), openaiEnd(llm.Length)},
		},
		{
			"a filter",
			openaiCreated + openaiNamed("response.incomplete", `,"response":`+openaiResponse("incomplete", `,"error":null,"incomplete_details":{"reason":"content_filter"}`)),
			[]llm.Part{openaiEnd(llm.Refusal)},
		},
		{
			"a refusal",
			openaiCreated + openaiNamed("response.refusal.delta", `,"output_index":0,"delta":"no"`) + openaiNamed("response.completed", `,"response":`+openaiResponse("completed", "", openaiRefusing)),
			[]llm.Part{openaiText("no"), openaiEnd(llm.Refusal)},
		},
		{
			"events without names, and a terminator of the other API",
			strings.ReplaceAll(openaiCreated+spoken+openaiNamed("response.completed", `,"response":`+openaiResponse("completed", "", openaiMessage)), "event: response.", ": ") + openaiEvents("[DONE]"),
			[]llm.Part{openaiText("a"), openaiText("b"), openaiEnd(llm.Stop)},
		},
		{"one answer for a stream", openaiResponse("completed", openaiSpent, openaiMessage), []llm.Part{openaiText("ab"), openaiCost, openaiEnd(llm.Stop)}},
		{"one answer that is a refusal", openaiResponse("completed", "", openaiRefusing), []llm.Part{openaiText("no"), openaiEnd(llm.Refusal)}},
	}
	for _, tt := range tests {
		got, err := openaiAsk(provider.OpenAI(provider.Config{Client: openaiPlays(tt.stream)}), openaiHello)
		if err != nil {
			t.Errorf("%s: error %v", tt.name, err)
		}
		openaiDiff(t, tt.name, tt.want, got)
	}
}

// llama-server and Ollama say completed of an answer that was cut at max_output_tokens.
func TestResponses_CompletedAtItsLimitIsCut(t *testing.T) {
	end := openaiNamed("response.completed", `,"response":`+openaiResponse("completed", openaiSpent, openaiMessage)) // five tokens
	for limit, want := range map[int]llm.Reason{0: llm.Stop, 5: llm.Length, 6: llm.Stop} {
		for _, answer := range []string{openaiCreated + end, openaiResponse("completed", openaiSpent, openaiMessage)} {
			m := provider.OpenAI(provider.Config{API: provider.Responses, Client: openaiPlays(answer)})
			got, err := openaiAsk(m, llm.Request{Messages: openaiHello.Messages, MaxTokens: limit})
			if err != nil || len(got) == 0 || got[len(got)-1] != openaiEnd(want) {
				t.Errorf("limit %d, five tokens: got %v, error %v, want an end with %s", limit, got, err, want)
			}
		}
	}
}

func TestResponses_Failures(t *testing.T) {
	delta := openaiNamed("response.output_text.delta", `,"output_index":0,"delta":"a"`)
	tests := []struct {
		name   string
		stream string
		want   fault.Kind
		parts  int
	}{
		{"clean end", openaiCreated, fault.Truncated, 0},
		{"clean end after text", openaiCreated + delta, fault.Truncated, 1},
		{"end in a call", openaiCreated + openaiNamed("response.function_call_arguments.delta", `,"output_index":0,"delta":"{"`), fault.Truncated, 0},
		{"terminator of the other API", openaiCreated + delta + openaiEvents("[DONE]"), fault.Truncated, 1},
		{"failed", openaiCreated + openaiNamed("response.failed", `,"response":`+openaiResponse("failed", `,"error":{"code":"server_error","message":"gone"}`)), fault.Unavailable, 0},
		{"failed for the rate", openaiCreated + openaiNamed("response.failed", `,"response":`+openaiResponse("failed", `,"error":{"code":"rate_limit_exceeded","message":"Please try again in 11.054s."}`)), fault.RateLimited, 0},
		{"incomplete with an error", openaiCreated + delta + openaiNamed("response.incomplete", `,"response":`+openaiResponse("incomplete", `,"error":{"code":"server_error","message":"gone"}`)), fault.Unavailable, 1},
		{"error as it comes", openaiCreated + openaiNamed("error", `,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}`), fault.TooLong, 0},
		{"error as its page has it", openaiCreated + openaiNamed("error", `,"code":"server_error","message":"gone"`), fault.Unavailable, 0},
		{"error without a name", openaiEvents(`{"type":"error","code":"rate_limit_exceeded","message":"again"}`), fault.RateLimited, 0},
		{"failed in one piece", openaiResponse("failed", `,"error":{"code":"server_error","message":"gone"}`, openaiMessage), fault.Unavailable, 0},
		{"not ready in one piece", openaiResponse("in_progress", `,"error":null`), fault.Truncated, 0},
	}
	for _, tt := range tests {
		client := openaiPlays(tt.stream)
		if tt.stream[0] == '{' {
			client = openaiServes(200, "application/json", tt.stream)
		}
		got, err := openaiAsk(provider.OpenAI(provider.Config{Client: client}), openaiHello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != tt.want || len(got) != tt.parts {
			t.Errorf("%s: error %#v, parts %v", tt.name, err, got)
		}
	}
}

func TestResponses_RequestBody(t *testing.T) {
	openaiSends(t, provider.Config{Model: "gpt-5", Summaries: true}, openaiConversation, `{
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
		openaiSends(t, provider.Config{Model: model}, llm.Request{Messages: openaiHello.Messages, NoStream: true},
			`{"model": "`+model+`", "store": false, "input": [{"role": "user", "content": "Hello"}]}`)
	}
	openaiSends(t, provider.Config{Model: "o4-mini"}, llm.Request{Messages: openaiHello.Messages},
		`{"model": "o4-mini", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "input": [{"role": "user", "content": "Hello"}]}`)
}
