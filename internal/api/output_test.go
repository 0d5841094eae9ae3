package api_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

func TestTally_OutputOfAWholeAnswer(t *testing.T) {
	rows := []struct {
		api, body string
		want      api.Output
	}{
		{"openai-chat", `{}`, api.NoOutput},
		{"openai-chat", `{"choices":null}`, api.NoOutput},
		{"openai-chat", `{"choices":[{"message":{"content":""},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`, api.NoOutput},
		{"openai-chat", `{"choices":[{"message":{"tool_calls":[]},"finish_reason":"tool_calls"}]}`, api.NoOutput},
		{"openai-chat", `{"choices":[{"message":{"content":""},"finish_reason":"length"}]}`, api.SomeOutput},
		{"openai-chat", `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`, api.SomeOutput},
		{"openai-chat", `{"choices":[{"message":{"content":"","reasoning_content":"Hm."},"finish_reason":"stop"}],"usage":{"completion_tokens":9}}`, api.SomeOutput},
		{"openai-chat", `{"choices":[{"message":{"content":"","reasoning_content":"Hm."},"finish_reason":"stop"}],"usage":{"completion_tokens":0}}`, api.NoOutput},
		{"openai-chat", `{"choices":[{"message":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, api.NoInput},
		{"openai-chat", `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, api.SomeOutput},
		{"openai-chat", `{"choices":[{"message":{"content":""},"finish_reason":"stop"},{"message":{"content":"Hi"},"finish_reason":"stop"}]}`, api.SomeOutput},
		{"openai-completions", `{"choices":[{"text":"","finish_reason":"stop"}]}`, api.NoOutput},
		{"anthropic", `{"type":"message","content":[],"stop_reason":"tool_use"}`, api.NoOutput},
		{"anthropic", `{"type":"message","content":[{"type":"text","text":""}],"stop_reason":"end_turn"}`, api.NoOutput},
		{"anthropic", `{"type":"message","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"}],"stop_reason":"end_turn"}`, api.SomeOutput},
		{"anthropic", `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":0,"cache_read_input_tokens":9,"output_tokens":0}}`, api.NoOutput},
		{"anthropic", `{"type":"message","content":[],"stop_reason":"pause_turn"}`, api.SomeOutput},
		{"openai-responses", `{"object":"response","status":"completed","output":[]}`, api.NoOutput},
		{"openai-responses", `{"object":"response","status":"completed","output":[{"type":"web_search_call"}]}`, api.SomeOutput},
		{"openai-responses", `{"object":"response","status":"queued","output":[]}`, api.SomeOutput},
		{"openai-responses", `{"object":"response.compaction","output":[{"type":"compaction","encrypted_content":"x"}]}`, api.SomeOutput},
		{"gemini", `{"candidates":[]}`, api.NoOutput},
		{"gemini", `{"promptFeedback":{"blockReason":"SAFETY"}}`, api.SomeOutput},
		{"bedrock-converse", `{"output":{"message":{"content":[]}},"stopReason":"tool_use","usage":{"inputTokens":3,"outputTokens":9}}`, api.NoOutput},
		{"bedrock-invoke", `{"generation":"Hi"}`, api.SomeOutput},
		{"ollama", `{"model":"m","response":"","done":true,"done_reason":"load"}`, api.SomeOutput},
		{"cohere", `{"finish_reason":"TOOL_CALL","message":{"content":[]}}`, api.NoOutput},
	}
	for _, d := range registry.All() {
		for _, row := range rows {
			if row.api != d.Name() {
				continue
			}
			var tally api.Tally
			if tally.Add(d, api.JSON, []byte(row.body)); tally.Output() != row.want {
				t.Errorf("%s: %s is %d, want %d", row.api, row.body, tally.Output(), row.want)
			}
		}
	}
}
