package dialect_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

func TestForm_FrameLen(t *testing.T) {
	tests := []struct {
		form   dialect.Form
		stream string
		want   int
	}{
		{dialect.Events, "data: 1\n\ndata: 2\n\n", 9},
		{dialect.Events, "data: 1\r\n\r\nrest", 11},
		{dialect.Events, "data: 1\n\r\nrest", 10},
		{dialect.Events, "event: a\ndata: 1\n", 0},
		{dialect.Events, "data: 1\n\r", 0},
		{dialect.Events, "\n\n", 2},
		{dialect.Events, "\n", 0},
		{dialect.Events, "", 0},
		{dialect.Lines, "{}\n{}\n", 3},
		{dialect.Lines, " {}\r\n", 5},
		{dialect.Lines, "\n", 1},
		{dialect.Lines, "{}", 0},
		{dialect.Lines, "", 0},
		{dialect.Array, `[{"a":1},{"b":2}]`, 8},
		{dialect.Array, ` [ {"a":{"b":["}",2]}}`, 22},
		{dialect.Array, "\n,\r\n{}", 6},
		{dialect.Array, "\n]\n", 2},
		{dialect.Array, "[]", 2},
		{dialect.Array, `[{"a":"}"`, 0},
		{dialect.Array, `[{"a":"\"}"`, 0},
		{dialect.Array, `["a",1,{}]`, 0},
		{dialect.Array, "[", 0},
		{dialect.Array, "", 0},
		{dialect.JSON, "{}\n\n", 0},
	}
	for _, tt := range tests {
		for from := range len(tt.stream) + 1 {
			if tt.want != 0 && from >= tt.want {
				continue // what was looked at before held the frame
			}
			if got := tt.form.FrameLen([]byte(tt.stream), from); got != tt.want {
				t.Errorf("FrameLen(%q, %d) = %d, want %d", tt.stream, from, got, tt.want)
			}
		}
	}
}

func TestDialect_EndsAnswerOnlyWithWholeEnd(t *testing.T) {
	tests := []struct {
		d    *dialect.Dialect
		form dialect.Form
		rest string
		want bool
	}{
		{dialect.OpenAIChat(), dialect.Events, "data: [DONE]", true},
		{dialect.OpenAIChat(), dialect.Events, "data: [DONE]\n", true},
		{dialect.OpenAIChat(), dialect.Events, "data: [DO", false},
		{dialect.OpenAIChat(), dialect.Events, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`, true},
		{dialect.OpenAIChat(), dialect.Events, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]`, false},
		{dialect.OpenAIChat(), dialect.Events, `data: {"choices":[{"delta":{"content":"Hi"}}]}`, false},
		{dialect.OpenAIChat(), dialect.Events, `data: {"error":{"message":"gone"}}`, true},
		{dialect.OpenAIChat(), dialect.Events, `data: {"error":{"message":"go`, false},
		{dialect.Anthropic(), dialect.Events, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n", true},
		{dialect.Anthropic(), dialect.Events, "event: message_stop\n", false},
		{dialect.Anthropic(), dialect.Events, "event: error\ndata: {\"type\":\"err", false},
		{dialect.Anthropic(), dialect.Events, "event: content_block_delta\ndata: {\"type\":\"content_block_deltA\"}", false},
		{dialect.OpenAIResponses(), dialect.Events, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{}}", true},
		{dialect.OpenAIResponses(), dialect.Events, "event: response.completed\ndata: {\"type\":\"response.completed\",\"resp", false},
		{
			dialect.OpenAIResponses(), dialect.Events,
			"event: response.completed\ndata: " + `{"type":"response.completed","response":{"output":[{"arguments":"{\"a\":\"b\"}`, false,
		},
		{dialect.Gemini(), dialect.Events, `data: {"candidates":[{"finishReason":"STOP"}]}`, true},
		{dialect.Gemini(), dialect.Events, "{\n \"error\": {\"code\": 503}\n}\n", true},
		{dialect.Gemini(), dialect.Events, "{\n \"error\": {\"code\": 503}\n", false},
		{dialect.Gemini(), dialect.Array, `,{"candidates":[{"finishRea`, false},
		{dialect.Ollama(), dialect.Lines, `{"model":"m","done":true}`, true},
		{dialect.Ollama(), dialect.Lines, `{"model":"m","done":true`, false},
		{dialect.Ollama(), dialect.Lines, `{"model":"m","message":{"content":"Hi"},"done":false}`, false},
		{dialect.Ollama(), dialect.Lines, `{"error":"gone"}`, true},
		{dialect.LMStudio(), dialect.Events, "event: chat.end\ndata: {\"type\":\"chat.end\",\"result\":{}}\n", true},
	}
	for _, tt := range tests {
		if got := tt.d.EndsAnswer(tt.form, []byte(tt.rest)); got != tt.want {
			t.Errorf("EndsAnswer(%q) = %v, want %v", tt.rest, got, tt.want)
		}
	}
}

func TestForm_ContentType(t *testing.T) {
	for form, want := range map[dialect.Form]string{
		dialect.JSON: "application/json", dialect.Events: "text/event-stream; charset=utf-8",
		dialect.Lines: "application/x-ndjson", dialect.Array: "application/json",
	} {
		if got := form.ContentType(); got != want {
			t.Errorf("content type of form %d: %q, want %q", form, got, want)
		}
	}
}
