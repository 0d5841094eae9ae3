package dialect_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

func TestDialect_Refusal(t *testing.T) {
	anthropic, chat, responses, gemini := dialect.Anthropic(), dialect.OpenAIChat(), dialect.OpenAIResponses(), dialect.Gemini()
	tests := []struct {
		name  string
		d     *dialect.Dialect
		form  dialect.Form
		frame string
		want  string
	}{
		{"anthropic, stream", anthropic, dialect.Events, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\n", "refusal"},
		{"anthropic, another end", anthropic, dialect.Events, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n", ""},
		{"anthropic, whole", anthropic, dialect.JSON, `{"type":"message","content":[],"stop_reason":"refusal"}`, "refusal"},
		{"anthropic, whole with content", anthropic, dialect.JSON, `{"type":"message","content":[{"type":"text","text":"No"}],"stop_reason":"refusal"}`, ""},
		{"chat, stream", chat, dialect.Events, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}` + "\n\n", "content_filter"},
		{"chat, one of two", chat, dialect.Events, `data: {"choices":[{"delta":{},"finish_reason":"content_filter"},{"delta":{"content":"a"}}]}` + "\n\n", ""},
		{"chat, whole", chat, dialect.JSON, `{"choices":[{"message":{"role":"assistant","content":null,"refusal":null},"finish_reason":"content_filter"}]}`, "content_filter"},
		{"chat, cut by the filter", chat, dialect.JSON, `{"choices":[{"message":{"role":"assistant","content":"Once"},"finish_reason":"content_filter"}]}`, ""},
		{"chat, in the model's words", chat, dialect.JSON, `{"choices":[{"message":{"refusal":"I cannot"},"finish_reason":"stop"}]}`, ""},
		{"chat, usage", chat, dialect.Events, `data: {"choices":[],"usage":{"total_tokens":3}}` + "\n\n", ""},
		{"completions", dialect.OpenAICompletions(), dialect.JSON, `{"choices":[{"text":"","finish_reason":"content_filter"}]}`, "content_filter"},
		{"responses, stream", responses, dialect.Events, "event: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},\"output\":[]}}\n\n", "content_filter"},
		{"responses, tokens", responses, dialect.JSON, `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`, ""},
		{"gemini, prompt", gemini, dialect.Events, `data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{}}` + "\r\n\r\n", "PROHIBITED_CONTENT"},
		{"gemini, answer", gemini, dialect.Array, `[{"candidates":[{"finishReason":"SAFETY","safetyRatings":[{}]}]}`, "SAFETY"},
		{"gemini, code assist", gemini, dialect.JSON, `{"response":{"candidates":[{"finishReason":"BLOCKLIST","content":{"role":"model"}}]}}`, "BLOCKLIST"},
		{"gemini, after content", gemini, dialect.JSON, `{"candidates":[{"finishReason":"SAFETY","content":{"parts":[{"text":"Once"}]}}]}`, ""},
		{"gemini, length", gemini, dialect.JSON, `{"candidates":[{"finishReason":"MAX_TOKENS"}]}`, ""},
		{"gemini, no reason", gemini, dialect.JSON, `{"promptFeedback":{"safetyRatings":[]}}`, ""},
		{"bedrock, whole", dialect.BedrockInvoke(), dialect.JSON, `{"type":"message","content":[],"stop_reason":"refusal"}`, "refusal"},
		{"bedrock, converse", dialect.BedrockConverse(), dialect.JSON, `{"output":{"message":{"content":[]}},"stopReason":"content_filtered"}`, "content_filtered"},
		{"bedrock, a guardrail's own words", dialect.BedrockConverse(), dialect.JSON, `{"output":{"message":{"content":[{"text":"No"}]}},"stopReason":"guardrail_intervened"}`, ""},
		{"ollama", dialect.Ollama(), dialect.Lines, `{"done":true,"done_reason":"stop"}` + "\n", ""},
	}
	for _, tt := range tests {
		if got := tt.d.Refusal(tt.form, []byte(tt.frame)); got != tt.want {
			t.Errorf("%s: the refusal is %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestDialect_Comment(t *testing.T) {
	for _, tt := range []struct {
		d    *dialect.Dialect
		form dialect.Form
		want string
	}{
		{dialect.Anthropic(), dialect.Events, ": answer from one\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"},
		{dialect.OpenAIResponses(), dialect.Events, ": answer from one\n\n"},
		{dialect.OpenAIChat(), dialect.JSON, ""},
		{dialect.Gemini(), dialect.Events, ""},
		{dialect.Gemini(), dialect.Array, ""},
		{dialect.Ollama(), dialect.Lines, ""},
	} {
		if got := string(tt.d.Comment(tt.form, "answer from one")); got != tt.want {
			t.Errorf("%s in form %d: %q, want %q", tt.d.Name(), tt.form, got, tt.want)
		}
	}
}
