package dialect_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/fault"
)

func TestOfKnowsRequestsForAnAnswer(t *testing.T) {
	tests := []struct{ method, path, want string }{
		{"POST", "/v1/messages", "anthropic"},
		{"POST", "/anthropic/v1/messages", "anthropic"},
		{"POST", "/v1/chat/completions", "openai-chat"},
		{"POST", "/openai/deployments/gpt/chat/completions", "openai-chat"},
		{"POST", "/v1/messages/count_tokens", ""},
		{"POST", "/v1/messages/batches", ""},
		{"POST", "/v1/threads/thread_1/messages", ""},
		{"GET", "/v1/chat/completions", ""},
		{"POST", "/v1/embeddings", ""},
	}
	for _, tt := range tests {
		got := ""
		if d := dialect.Of(tt.method, tt.path); d != nil {
			got = d.Name()
		}
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.method, tt.path, got, tt.want)
		}
	}
}

var signs = map[dialect.Sign]string{
	dialect.Opening: "opening", dialect.Content: "content", dialect.Finish: "finish",
	dialect.Failure: "failure", dialect.End: "end",
}

func TestAnthropicSigns(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"message_start", `{"type":"message_start","message":{"usage":{"input_tokens":25}}}`, "opening"},
		{"ping", `{"type": "ping"}`, "opening"},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, "opening"},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, "opening"},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`, "content"},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"Eq"}}`, "content"},
		{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`, "content"},
		{"content_block_stop", `{"type":"content_block_stop","index":0}`, "opening"},
		{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}`, "content"},
		{"message_stop", `{"type":"message_stop"}`, "end"},
		{"error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "failure"},
		{"", `{"type":"error","error":{"type":"overloaded_error"}}`, "failure"},
		{"", `{"type":"message_start"}`, "opening"},
		{"next_year", `{"type":"next_year"}`, "content"},
	}
	for _, tt := range tests {
		frame := "data: " + tt.data + "\n\n"
		if tt.name != "" {
			frame = "event: " + tt.name + "\n" + frame
		}
		for _, f := range []string{frame, strings.ReplaceAll(frame, "\n", "\r\n")} {
			if got := signs[dialect.Anthropic().Sign(dialect.Events, []byte(f))]; got != tt.want {
				t.Errorf("%q: %s, want %s", f, got, tt.want)
			}
		}
	}
}

func TestOpenAIChatSigns(t *testing.T) {
	tests := []struct{ frame, want string }{
		{`: OPENROUTER PROCESSING`, "opening"},
		{`data: {"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, "opening"},
		{`data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, "opening"},
		{`data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null}}],"usage":null}`, "opening"},
		{`data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`, "content"},
		{`data: {"id": "c", "choices": [{"index": 0, "delta": {"reasoning_content": "Hm"}, "finish_reason": null}]}`, "content"},
		{`data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1"}]}}]}`, "content"},
		{`data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "finish"},
		{`data: {"id":"c","choices":[{"index":0,"delta":{"content":"\"finish_reason\":\"stop\""},"finish_reason":null}]}`, "content"},
		{`data: {"id":"c","choices":[],"usage":{"total_tokens":7}}`, "content"},
		{`data: {"error":{"message":"The server is overloaded","type":"server_error"}}`, "failure"},
		{`data: {"id":"c","error":{"code":502,"message":"Provider returned error"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, "failure"},
		{`data: {"object":"error","message":"EngineCore encountered an issue","code":500}`, "failure"},
		{"event: error\ndata: upstream is gone", "failure"},
		{`data: [DONE]`, "end"},
		{`data:[DONE]`, "end"},
		{`data: plain text`, "content"},
	}
	for _, tt := range tests {
		if got := signs[dialect.OpenAIChat().Sign(dialect.Events, []byte(tt.frame+"\n\n"))]; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.frame, got, tt.want)
		}
	}
}

func TestWholeTellsAnswersFromErrors(t *testing.T) {
	tests := []struct{ body, want string }{
		{`{"id":"c","choices":[{"message":{"content":"Hi"}}]}`, "content"},
		{`{"type":"message","content":[{"type":"text","text":"an \"error\":{} in words"}]}`, "content"},
		{`{"id":"r","error":null,"output":[]}`, "content"},
		{`{"id":"r","error":false,"choices":[]}`, "content"},
		{`{"error":{"message":"overloaded"}}`, "failure"},
		{`{"type":"error","error":{"type":"overloaded_error"}}`, "failure"},
		{`<!DOCTYPE html><title>502</title>`, "failure"},
		{`{"id":"c","choices":[{"mess`, "opening"},
		{` `, "opening"},
	}
	for _, tt := range tests {
		if got := signs[dialect.OpenAIChat().Whole([]byte(tt.body))]; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.body, got, tt.want)
		}
	}
}

func TestReadFindsModelAndStreamAnywhere(t *testing.T) {
	tests := []struct {
		body   string
		model  string
		stream bool
	}{
		{`{"model":"m","stream":true,"messages":[]}`, "m", true},
		{"{ \"messages\" : [{\"content\":\"say \\\"stream\\\": true\"}] ,\n \"model\" : \"a\\u0062\" }", "ab", false},
		{`{"messages":[{"stream":true,"model":"inner"}],"stream":false,"model":"outer"}`, "outer", false},
		{`{"stream":true,"stream":false}`, "", false},
		{`{"model":7,"stream":"true"}`, "", false},
		{`{"model":"m","messages":[{"content":"broken`, "m", false},
		{`stream: true`, "", false},
		{`{"model":"` + strings.Repeat("m", 1<<20) + `"}`, strings.Repeat("m", 256), false},
		{``, "", false},
	}
	for _, tt := range tests {
		got := dialect.Anthropic().Read(&url.URL{}, []byte(tt.body))
		if got.Model != tt.model || (got.Form != dialect.JSON) != tt.stream {
			t.Errorf("%s: %+v, want %q %v", tt.body, got, tt.model, tt.stream)
		}
	}
}

func TestOnlyAWholeEndEndsAStreamWithoutItsBlankLine(t *testing.T) {
	tests := []struct {
		d    *dialect.Dialect
		rest string
		want bool
	}{
		{dialect.OpenAIChat(), "data: [DONE]", true},
		{dialect.OpenAIChat(), "data: [DONE]\n", true},
		{dialect.OpenAIChat(), "data: [DO", false},
		{dialect.OpenAIChat(), `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`, true},
		{dialect.OpenAIChat(), `data: {"choices":[{"delta":{},"finish_reason":"stop"}]`, false},
		{dialect.OpenAIChat(), `data: {"choices":[{"delta":{"content":"Hi"}}]}`, false},
		{dialect.OpenAIChat(), `data: {"error":{"message":"gone"}}`, true},
		{dialect.OpenAIChat(), `data: {"error":{"message":"go`, false},
		{dialect.Anthropic(), "event: message_stop\ndata: {\"type\":\"message_stop\"}\n", true},
		{dialect.Anthropic(), "event: message_stop\n", false},
		{dialect.Anthropic(), "event: error\ndata: {\"type\":\"err", false},
		{dialect.Anthropic(), "event: content_block_delta\ndata: {\"type\":\"content_block_deltA\"}", false},
	}
	for _, tt := range tests {
		if got := tt.d.Ends(dialect.Events, []byte(tt.rest)); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.rest, got, tt.want)
		}
	}
}

func TestKeepalivesAreWholeFramesAndNoContent(t *testing.T) {
	claude := dialect.Client{Agent: "claude-cli/2.1.329 (external, cli)", Model: `gpt "5"`}
	for _, d := range []*dialect.Dialect{dialect.Anthropic(), dialect.OpenAIChat()} {
		for _, frame := range [][]byte{d.Ping(dialect.Events, ""), d.Ping(dialect.Events, "ridethrough retry 3 in 52s overloaded"), d.Heartbeat(dialect.Events, claude)} {
			if dialect.Events.Cut(frame, 0) != len(frame) {
				t.Errorf("%s: %q is no whole frame", d.Name(), frame)
			}
		}
		if sign := d.Sign(dialect.Events, d.Ping(dialect.Events, "")); sign != dialect.Opening {
			t.Errorf("%s: the ping reads as %s", d.Name(), signs[sign])
		}
	}
	if got := dialect.OpenAIChat().Sign(dialect.Events, dialect.OpenAIChat().Heartbeat(dialect.Events, claude)); got != dialect.Opening {
		t.Errorf("the chunk that adds nothing reads as %s", signs[got])
	}
}

func TestOnlyClaudeCodeGetsTheAnthropicHeartbeat(t *testing.T) {
	for agent, want := range map[string]bool{"claude-cli/2.1.329 (external, cli)": true, "ai-sdk/anthropic": false, "": false} {
		if got := dialect.Anthropic().Heartbeat(dialect.Events, dialect.Client{Agent: agent}) != nil; got != want {
			t.Errorf("%q: %v, want %v", agent, got, want)
		}
	}
}

func TestErrorEventsReadAsFailures(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.Anthropic(), dialect.OpenAIChat()} {
		for k := fault.Unknown; k <= fault.Canceled; k++ {
			frame := d.ErrorEvent(dialect.Events, &fault.Error{Kind: k}, "gave up\n\nafter \"all\"", false)
			if dialect.Events.Cut(frame, 0) != len(frame) || d.Sign(dialect.Events, frame) != dialect.Failure {
				t.Errorf("%s, %v: %q", d.Name(), k, frame)
			}
		}
	}
}

func TestAnthropicCallsEverythingThatPassesOverloaded(t *testing.T) {
	for k := fault.Unknown; k < fault.Canceled; k++ {
		body := string(dialect.Anthropic().ErrorBody(&fault.Error{Kind: k}, "x"))
		if got := strings.Contains(body, "overloaded_error"); got != (fault.Transient.Has(k) || k == fault.Unknown) {
			t.Errorf("%v: %s", k, body)
		}
	}
}

func TestCutFindsTheBlankLine(t *testing.T) {
	tests := []struct {
		stream string
		want   int
	}{
		{"data: 1\n\ndata: 2\n\n", 9},
		{"data: 1\r\n\r\nrest", 11},
		{"data: 1\n\r\nrest", 10},
		{"event: a\ndata: 1\n", 0},
		{"data: 1\n\r", 0},
		{"\n\n", 2},
		{"\n", 0},
		{"", 0},
	}
	for _, tt := range tests {
		for from := range len(tt.stream) + 1 {
			if tt.want != 0 && from >= tt.want {
				continue // what was looked at before held the frame
			}
			if got := dialect.Events.Cut([]byte(tt.stream), from); got != tt.want {
				t.Errorf("%q from %d: %d, want %d", tt.stream, from, got, tt.want)
			}
		}
	}
}
