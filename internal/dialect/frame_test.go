package dialect_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

var kindNames = map[dialect.FrameKind]string{
	dialect.Opening: "opening", dialect.Content: "content", dialect.Finish: "finish",
	dialect.Failure: "failure", dialect.End: "end", dialect.Last: "last",
}

// frameRow is a frame and what it means.
type frameRow struct{ frame, want string }

// check holds the frames against their meanings, and against what a reader
// sees of them after content.
func check(t *testing.T, d *dialect.Dialect, f dialect.Form, rows []frameRow) {
	t.Helper()
	for _, row := range rows {
		if got := kindNames[d.FrameKind(f, []byte(row.frame))]; got != row.want {
			t.Errorf("FrameKind(%q) = %s, want %s", row.frame, got, row.want)
		}
		want := row.want
		if want == "opening" {
			want = "content"
		}
		if got := kindNames[max(d.LaterFrameKind(f, []byte(row.frame)), dialect.Content)]; got != want {
			t.Errorf("LaterFrameKind(%q) = %s, want %s", row.frame, got, want)
		}
	}
}

// namedEvents returns events named by the type in their data: with both line ends,
// and without the name, as relays send them.
func namedEvents(rows []frameRow) (all []frameRow) {
	for _, row := range rows {
		_, kind, _ := strings.Cut(row.frame, `"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		frame := "event: " + kind + "\ndata: " + row.frame + "\n\n"
		all = append(all,
			frameRow{frame, row.want},
			frameRow{strings.ReplaceAll(frame, "\n", "\r\n"), row.want},
			frameRow{"data: " + row.frame + "\n\n", row.want})
	}
	return all
}

func TestAnthropic_FrameKind(t *testing.T) {
	check(t, dialect.Anthropic(), dialect.Events, namedEvents([]frameRow{
		{`{"type":"message_start","message":{"usage":{"input_tokens":25}}}`, "opening"},
		{`{"type":"ping"}`, "opening"},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, "opening"},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, "opening"},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`, "content"},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"Eq"}}`, "content"},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`, "content"},
		{`{"type":"content_block_stop","index":0}`, "opening"},
		{`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}`, "content"},
		{`{"type":"message_stop"}`, "end"},
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "failure"},
		{`{"type":"next_year"}`, "content"},
	}))
	check(t, dialect.Anthropic(), dialect.Events, []frameRow{
		{"data: {\"error\":{\"message\":\"bad gateway\"}}\n\n", "failure"},
		{": OPENROUTER PROCESSING\n\n", "opening"},
		{"\n\n", "opening"},
	})
}

func TestOpenAIChat_FrameKind(t *testing.T) {
	rows := []frameRow{
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
		{`data: {"id":"c","choices":[{"index":0,"delta":{"content":"\"error\": {}"},"finish_reason":null}]}`, "content"},
		{`data: {"choices":[{"index":0,"delta":{},"finish_reason":null},{"index":1,"delta":{},"finish_reason":"stop"}]}`, "finish"},
		{`data: {"id":"c","error":{"message":"gone"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}`, "failure"},
		{`{"error":{"message":"bare JSON in a stream of events"}}`, "failure"},
	}
	for i := range rows {
		rows[i].frame += "\n\n"
	}
	check(t, dialect.OpenAIChat(), dialect.Events, rows)
}

func TestOpenAICompletions_FrameKind(t *testing.T) {
	check(t, dialect.OpenAICompletions(), dialect.Events, []frameRow{
		{`data: {"id":"cmpl-1","object":"text_completion","choices":[{"text":"","index":0,"logprobs":null,"finish_reason":null}]}` + "\n\n", "opening"},
		{`data: {"id":"cmpl-1","object":"text_completion","choices":[{"text":"Hi","index":0,"logprobs":null,"finish_reason":null}]}` + "\n\n", "content"},
		{`data: {"id":"cmpl-1","object":"text_completion","choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}]}` + "\n\n", "finish"},
		{`data: {"error":{"message":"gone"}}` + "\n\n", "failure"},
		{"data: [DONE]\n\n", "end"},
	})
}

func TestOpenAIResponses_FrameKind(t *testing.T) {
	check(t, dialect.OpenAIResponses(), dialect.Events, namedEvents([]frameRow{
		{`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","error":null,"output":[]}}`, "opening"},
		{`{"type":"response.queued","response":{"id":"resp_1","status":"queued"}}`, "opening"},
		{`{"type":"response.in_progress","response":{"id":"resp_1","error":null}}`, "opening"},
		{`{"type":"keepalive","sequence_number":3}`, "opening"},
		{`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`, "opening"},
		{`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA","summary":[]}}`, "opening"},
		{`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","name":"f","arguments":""}}`, "content"},
		{`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}`, "content"},
		{`{"type":"response.content_part.added","part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}`, "opening"},
		{`{"type":"response.content_part.added","part":{"type":"output_text","text":"Hi"}}`, "content"},
		{`{"type":"response.reasoning_summary_part.added","part":{"type":"summary_text","text":""}}`, "opening"},
		{`{"type":"response.reasoning_summary_text.delta","delta":"Hm"}`, "content"},
		{`{"type":"response.output_text.delta","sequence_number":4,"delta":"Hi"}`, "content"},
		{`{"type":"response.output_text.delta","delta":"\"error\":{}"}`, "content"},
		{`{"type":"response.function_call_arguments.delta","delta":"{"}`, "content"},
		{`{"type":"response.output_text.done","text":"Hi"}`, "content"},
		{`{"type":"response.web_search_call.searching"}`, "content"},
		{`{"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"output":[]}}`, "last"},
		{`{"type":"response.incomplete","response":{"status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"}}}`, "last"},
		{`{"type":"response.incomplete","response":{"status":"incomplete","error":{"code":"server_error","message":"gone"}}}`, "failure"},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"gone"}}}`, "failure"},
		{`{"type":"error","sequence_number":2,"error":{"type":"too_many_requests","code":"too_many_requests","message":"Too Many Requests","param":null}}`, "failure"},
		{`{"type":"error","code":"ERR","message":"gone","param":null,"sequence_number":1}`, "failure"},
	}))
	check(t, dialect.OpenAIResponses(), dialect.Events, []frameRow{
		{`data: {"error":{"message":"a relay's own"}}` + "\n\n", "failure"},
		{"data: [DONE]\n\n", "end"},
		{": comment\n\n", "opening"},
	})
}

// geminiRows are chunks as Google sends them, and what relays make of them.
var geminiRows = []frameRow{
	{`{"candidates": [{"content": {"parts": [{"text": "Hi"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 8}}`, "content"},
	{"{\n  \"candidates\": [\n    {\n      \"content\": {\n        \"parts\": [\n          {\n            \"text\": \"Hi\"\n          }\n        ]\n      }\n    }\n  ]\n}", "content"},
	{`{"candidates":[{"content":{"role":"model","parts":[]},"index":0}],"usageMetadata":{"promptTokenCount":8}}`, "opening"},
	{`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]}}]}`, "opening"},
	{`{"candidates":[{"content":{"parts":[{"text":"Hm","thought":true}]}}]}`, "content"},
	{`{"candidates":[{"content":{"parts":[{"text":"","thought":true}]}}]}`, "opening"},
	{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}`, "content"},
	{`{"candidates":[{"content":{"parts":[{"text":"\"finishReason\": \"STOP\""}]}}]}`, "content"},
	{`{"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP"}],"usageMetadata":{}}`, "finish"},
	{`{"candidates":[{"finishReason":"SAFETY","safetyRatings":[]}]}`, "finish"},
	{`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`, "content"},
	{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":8}}`, "finish"},
	{`{"candidates":[],"usageMetadata":{"promptTokenCount":8}}`, "finish"},
	{`{"usageMetadata":{"promptTokenCount":8},"modelVersion":"gemini-2.5-flash"}`, "finish"},
	{`{"modelVersion":"gemini-2.5-flash"}`, "opening"},
	{`{"response":{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]},"traceId":"t"}`, "content"},
	{`{"response":{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}}`, "finish"},
	{`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, "failure"},
}

func TestGemini_FrameKind(t *testing.T) {
	events := []frameRow{
		{"\n\n", "opening"},
		{"{\n  \"error\": {\n    \"code\": 503,\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n", "failure"},
		{"data: [DONE]\n\n", "end"},
	}
	array := []frameRow{{"]", "end"}, {"\n]", "end"}, {"[]", "end"}}
	for _, row := range geminiRows {
		array = append(array, frameRow{"[" + row.frame, row.want}, frameRow{"\n,\r\n" + row.frame, row.want})
		if !strings.Contains(row.frame, "\n") {
			events = append(events, frameRow{"data: " + row.frame + "\r\n\r\n", row.want})
		}
	}
	check(t, dialect.Gemini(), dialect.Events, events)
	check(t, dialect.Gemini(), dialect.Array, array)
}

func TestCohere_FrameKind(t *testing.T) {
	check(t, dialect.Cohere(), dialect.Events, namedEvents([]frameRow{
		{`{"type":"message-start","id":"1","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}`, "opening"},
		{`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}`, "opening"},
		{`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}`, "content"},
		{`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I"}}}`, "content"},
		{`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":""}}}`, "opening"},
		{`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"f_1"}}}}`, "content"},
		{`{"type":"citation-start","index":0,"delta":{"message":{"citations":{}}}}`, "content"},
		{`{"type":"content-end","index":0}`, "opening"},
		{`{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"tokens":{"output_tokens":3}}}}`, "last"},
		{`{"type":"message-end","delta":{"finish_reason":"ERROR","error":"overloaded"}}`, "failure"},
		{`{"type":"message-end","delta":{"finish_reason":"TIMEOUT"}}`, "failure"},
		{`{"type":"next-year"}`, "content"},
	}))
	check(t, dialect.Cohere(), dialect.Events, []frameRow{
		{"data: [DONE]\n\n", "end"},
		{": hold\n\n", "opening"},
		{`data: {"id":"1","message":"internal server error"}` + "\n\n", "failure"},
		{`data: {"error":{"message":"a relay's own"}}` + "\n\n", "failure"},
	})
	check(t, dialect.Cohere(), dialect.JSON, []frameRow{
		{`{"id":"1","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]}}`, "content"},
		{`{"id":"1","finish_reason":"ERROR","message":{"role":"assistant","content":[]}}`, "failure"},
		{`{"id":"1","message":"internal server error"}`, "failure"},
		{`{"message":"inter`, "opening"},
	})
}

func TestOllama_FrameKind(t *testing.T) {
	rows := []frameRow{
		{`{"model":"m","created_at":"2026-11-01T07:00:00Z","message":{"role":"assistant","content":""},"done":false}`, "opening"},
		{`{"model":"m","created_at":"2026-11-01T07:00:00Z","message":{"role":"assistant","content":"Hi"},"done":false}`, "content"},
		{`{"model":"m","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}`, "content"},
		{`{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f"}}]},"done":false}`, "content"},
		{`{"model":"m","created_at":"2026-11-01T07:00:00Z","response":"Hi","done":false}`, "content"},
		{`{"model":"m","response":"","thinking":"Hm","done":false}`, "content"},
		{`{"model":"m","response":"","done":false,"total":4,"completed":1}`, "opening"},
		{`{"model":"m","response":"\"done\":true","done":false}`, "content"},
		{`{"model":"m","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"eval_count":9}`, "last"},
		{`{"model":"m","created_at":"2026-11-01T07:00:00Z","response":"","done":true,"done_reason":"load"}`, "last"},
		{`{"error":"an error was encountered while running the model"}`, "failure"},
		{`<html>502</html>`, "failure"},
		{``, "opening"},
		{` `, "opening"},
	}
	for i := range rows {
		rows[i].frame += "\n"
	}
	check(t, dialect.Ollama(), dialect.Lines, rows)
}

func TestLMStudio_FrameKind(t *testing.T) {
	check(t, dialect.LMStudio(), dialect.Events, namedEvents([]frameRow{
		{`{"type":"chat.start","model_instance_id":"openai/gpt-oss-20b"}`, "opening"},
		{`{"type":"model_load.progress","model_instance_id":"openai/gpt-oss-20b","progress":0.65}`, "opening"},
		{`{"type":"model_load.end","load_time_seconds":12.34}`, "opening"},
		{`{"type":"prompt_processing.progress","progress":0.5}`, "opening"},
		{`{"type":"reasoning.start"}`, "opening"},
		{`{"type":"reasoning.delta","content":"Need to"}`, "content"},
		{`{"type":"tool_call.start","tool":"model_search"}`, "content"},
		{`{"type":"tool_call.failure","reason":"Cannot find tool with name open_browser."}`, "content"},
		{`{"type":"message.start"}`, "opening"},
		{`{"type":"message.delta","content":"The current"}`, "content"},
		{`{"type":"message.end"}`, "opening"},
		{`{"type":"error","error":{"type":"internal_error","message":"The model has crashed","code":null,"param":null}}`, "failure"},
		{`{"type":"chat.end","result":{"model_instance_id":"m","output":[],"stats":{}}}`, "last"},
	}))
}

func TestDialect_BodyKind(t *testing.T) {
	rows := []frameRow{
		{`{"id":"c","choices":[{"message":{"content":"Hi"}}]}`, "content"},
		{`{"type":"message","content":[{"type":"text","text":"an \"error\":{} in words"}]}`, "content"},
		{`{"id":"r","error":null,"output":[]}`, "content"},
		{`{"id":"r","error":false,"choices":[]}`, "content"},
		{`{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"gone"},"output":[]}`, "failure"},
		{`{"id":"resp_1","object":"response","status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"}}`, "content"},
		{`{"promptFeedback":{"blockReason":"SAFETY"}}`, "content"},
		{`{"model":"m","response":"Hi","done":true}`, "content"},
		{`{"error":"model requires more system memory"}`, "failure"},
		{`{"error":{"message":"overloaded"}}`, "failure"},
		{`{"type":"error","error":{"type":"overloaded_error"}}`, "failure"},
		{`[{"error":{"code":503}}]`, "failure"},
		{`<!DOCTYPE html><title>502</title>`, "failure"},
		{`{"id":"c","choices":[{"mess`, "opening"},
		{` `, "opening"},
	}
	for _, d := range all {
		for _, row := range rows {
			if got := kindNames[d.FrameKind(dialect.JSON, []byte(row.frame))]; got != row.want {
				t.Errorf("%s: BodyKind(%s) = %s, want %s", d.Name(), row.frame, got, row.want)
			}
		}
	}
}
