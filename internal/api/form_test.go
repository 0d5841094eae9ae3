package api_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

func TestForm_FrameLen(t *testing.T) {
	tests := []struct {
		form   api.Form
		stream string
		want   int
	}{
		{api.Events, "data: 1\n\ndata: 2\n\n", 9},
		{api.Events, "data: 1\r\n\r\nrest", 11},
		{api.Events, "data: 1\n\r\nrest", 10},
		{api.Events, "event: a\ndata: 1\n", 0},
		{api.Events, "data: 1\n\r", 0},
		{api.Events, "\n\n", 2},
		{api.Events, "\n", 0},
		{api.Events, "", 0},
		{api.Lines, "{}\n{}\n", 3},
		{api.Lines, " {}\r\n", 5},
		{api.Lines, "\n", 1},
		{api.Lines, "{}", 0},
		{api.Lines, "", 0},
		{api.Array, `[{"a":1},{"b":2}]`, 8},
		{api.Array, ` [ {"a":{"b":["}",2]}}`, 22},
		{api.Array, "\n,\r\n{}", 6},
		{api.Array, "\n]\n", 2},
		{api.Array, "[]", 2},
		{api.Array, `[{"a":"}"`, 0},
		{api.Array, `[{"a":"\"}"`, 0},
		{api.Array, `["a",1,{}]`, 0},
		{api.Array, "[", 0},
		{api.Array, "", 0},
		{api.JSON, "{}\n\n", 0},
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

func TestAPI_EndsAnswerOnlyWithWholeEnd(t *testing.T) {
	tests := []struct {
		d    *api.API
		form api.Form
		rest string
		want bool
	}{
		{openai.Chat(), api.Events, "data: [DONE]", true},
		{openai.Chat(), api.Events, "data: [DONE]\n", true},
		{openai.Chat(), api.Events, "data: [DO", false},
		{openai.Chat(), api.Events, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`, true},
		{openai.Chat(), api.Events, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]`, false},
		{openai.Chat(), api.Events, `data: {"choices":[{"delta":{"content":"Hi"}}]}`, false},
		{openai.Chat(), api.Events, `data: {"error":{"message":"gone"}}`, true},
		{openai.Chat(), api.Events, `data: {"error":{"message":"go`, false},
		{anthropic.Messages(), api.Events, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n", true},
		{anthropic.Messages(), api.Events, "event: message_stop\n", false},
		{anthropic.Messages(), api.Events, "event: error\ndata: {\"type\":\"err", false},
		{anthropic.Messages(), api.Events, "event: content_block_delta\ndata: {\"type\":\"content_block_deltA\"}", false},
		{openai.Responses(), api.Events, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{}}", true},
		{openai.Responses(), api.Events, "event: response.completed\ndata: {\"type\":\"response.completed\",\"resp", false},
		{
			openai.Responses(), api.Events,
			"event: response.completed\ndata: " + `{"type":"response.completed","response":{"output":[{"arguments":"{\"a\":\"b\"}`, false,
		},
		{gemini.API(), api.Events, `data: {"candidates":[{"finishReason":"STOP"}]}`, true},
		{gemini.API(), api.Events, "{\n \"error\": {\"code\": 503}\n}\n", true},
		{gemini.API(), api.Events, "{\n \"error\": {\"code\": 503}\n", false},
		{gemini.API(), api.Array, `,{"candidates":[{"finishRea`, false},
		{ollama.API(), api.Lines, `{"model":"m","done":true}`, true},
		{ollama.API(), api.Lines, `{"model":"m","done":true`, false},
		{ollama.API(), api.Lines, `{"model":"m","message":{"content":"Hi"},"done":false}`, false},
		{ollama.API(), api.Lines, `{"error":"gone"}`, true},
		{lmstudio.API(), api.Events, "event: chat.end\ndata: {\"type\":\"chat.end\",\"result\":{}}\n", true},
	}
	for _, tt := range tests {
		if got := tt.d.EndsAnswer(tt.form, []byte(tt.rest)); got != tt.want {
			t.Errorf("EndsAnswer(%q) = %v, want %v", tt.rest, got, tt.want)
		}
	}
}

func TestForm_ContentType(t *testing.T) {
	for form, want := range map[api.Form]string{
		api.JSON: "application/json", api.Events: "text/event-stream; charset=utf-8",
		api.Lines: "application/x-ndjson", api.Array: "application/json",
	} {
		if got := form.ContentType(); got != want {
			t.Errorf("content type of form %d: %q, want %q", form, got, want)
		}
	}
}
