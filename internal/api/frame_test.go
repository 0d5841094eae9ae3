package api_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// An error of any vendor's is one in every API, since relays put them there.
func TestAPI_BodyKind(t *testing.T) {
	rows := []struct {
		body string
		want api.FrameKind
	}{
		{`{"id":"c","choices":[{"message":{"content":"Hi"}}]}`, api.Content},
		{`{"type":"message","content":[{"type":"text","text":"an \"error\":{} in words"}]}`, api.Content},
		{`{"id":"r","error":null,"output":[]}`, api.Content},
		{`{"id":"r","error":false,"choices":[]}`, api.Content},
		{`{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"gone"},"output":[]}`, api.Failure},
		{`{"id":"resp_1","object":"response","status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"}}`, api.Content},
		{`{"promptFeedback":{"blockReason":"SAFETY"}}`, api.Content},
		{`{"model":"m","response":"Hi","done":true}`, api.Content},
		{`{"error":"model requires more system memory"}`, api.Failure},
		{`{"error":{"message":"overloaded"}}`, api.Failure},
		{`{"type":"error","error":{"type":"overloaded_error"}}`, api.Failure},
		{`[{"error":{"code":503}}]`, api.Failure},
		{`<!DOCTYPE html><title>502</title>`, api.Failure},
		{`{"id":"c","choices":[{"mess`, api.Opening},
		{` `, api.Opening},
	}
	for _, d := range registry.All() {
		for _, row := range rows {
			if got := d.BodyKind([]byte(row.body)); got != row.want {
				t.Errorf("%s: BodyKind(%s) = %d, want %d", d.Name(), row.body, got, row.want)
			}
		}
	}
}

func TestAPI_EndThatNamesAFaultIsAFailure(t *testing.T) {
	rows := map[string][]struct {
		body string
		want api.FrameKind
	}{
		"openai-chat": {
			{`{"choices":[{"message":{"content":"Half"},"finish_reason":"abort"}]}`, api.Failure},
			{`{"choices":[{"delta":{},"finish_reason":"error"}]}`, api.Failure},
			{`{"choices":[{"delta":{"content":""},"error":{"code":502,"message":"gone"}}]}`, api.Failure},
			{`{"choices":[{"delta":{},"error":null,"finish_reason":"stop"}]}`, api.Finish},
		},
		"gemini": {
			{`{"candidates":[{"content":{"parts":[{"text":"Half"}]},"finishReason":"MALFORMED_RESPONSE"}]}`, api.Failure},
			{`{"candidates":[{"finishReason":"MISSING_THOUGHT_SIGNATURE"}]}`, api.Failure},
			{`{"candidates":[{"finishReason":"SAFETY"}]}`, api.Finish},
			{`{"promptFeedback":{"blockReason":"SAFETY"}}`, api.Finish},
		},
		"bedrock-converse": {
			{`{"output":{"message":{"content":[{"text":"Half"}]}},"stopReason":"malformed_tool_use"}`, api.Failure},
			{`{"output":{"message":{"content":[]}},"stopReason":"guardrail_intervened"}`, api.Finish},
		},
	}
	for _, d := range registry.All() {
		for _, row := range rows[d.Name()] {
			for form, frame := range map[api.Form]string{api.Events: "data: " + row.body + "\n\n", api.JSON: row.body} {
				want := row.want
				if form == api.JSON && want != api.Failure {
					want = api.Content
				}
				if got := d.FrameKind(form, []byte(frame)); got != want {
					t.Errorf("%s, form %d: FrameKind(%s) = %d, want %d", d.Name(), form, row.body, got, want)
				}
			}
		}
	}
}

func TestAPI_HidesErrorThatItsSDKsWouldNotSee(t *testing.T) {
	const plain, typed = `{"error":{"message":"no"}}`, `{"type":"error","error":{"message":"no"}}`
	rows := []struct {
		api, frame string
		want       bool
	}{
		{"openai-chat", "data: " + plain + "\n\n", false},
		{"openai-chat", `data: {"object":"error","message":"no"}` + "\n\n", true},
		{"openai-chat", `data: {"detail":"no"}` + "\n\n", true},
		{"openai-chat", "data: it failed\n\n", true},
		{"openai-chat", "data: <html></html>\n\n", true},
		{"openai-chat", `error: {"code":500,"message":"no"}` + "\n\n", true},
		{"openai-chat", plain + "\n\n", true},
		{"gemini", plain + "\n\n", false},
		{"gemini", `data: {"detail":"no"}` + "\n\n", true},
		{"gemini", `error: {"code":500,"message":"no"}` + "\n\n", true},
		{"anthropic", "event: error\ndata: " + typed + "\n\n", false},
		{"anthropic", "data: " + typed + "\n\n", true},
		{"openai-responses", "data: " + typed + "\n\n", false},
		{"openai-responses", `data: {"detail":"no"}` + "\n\n", true},
		{"openai-responses", `data: {"object":"error","message":"no","type":"InternalServerError"}` + "\n\n", true},
	}
	for _, d := range registry.All() {
		for _, row := range rows {
			if row.api != d.Name() {
				continue
			}
			if kind := d.FrameKind(api.Events, []byte(row.frame)); kind != api.Failure {
				t.Errorf("%s: FrameKind(%q) = %d, want a failure", row.api, row.frame, kind)
			}
			if got := d.HidesError(api.Events, []byte(row.frame)); got != row.want {
				t.Errorf("%s: HidesError(%q) = %v, want %v", row.api, row.frame, got, row.want)
			}
		}
	}
}
