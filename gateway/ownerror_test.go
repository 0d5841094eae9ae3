package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/policy"
)

// A held client that gets its error in the stream gets what it would have got by the status: SDKs go by the code and
// the details, as Anthropic's does for a thread that the server has forgotten.
func TestGiveUp_FinalErrorAfterTheCommitIsTheProvidersOwn(t *testing.T) {
	const forgotten = "{\n \"type\":\"error\",\n \"error\":{\"type\":\"not_found_error\",\"message\":\"No such thread\",\"details\":{\"error_code\":\"thread_not_found\"}},\n \"request_id\":\"req_011\"}"
	for _, tt := range []struct {
		name, path, agent string
		status            int
		body              string
		want              []string // in the stream
		not               string   // is not in it
	}{
		{"Anthropic", messages, plainSDK, 404, forgotten, []string{
			"event: error\ndata: {", `"details":{"error_code":"thread_not_found"}`, `"request_id":"req_011"`, `"type":"not_found_error"`, `"message":"ridethrough: HTTP 404: No such thread"`,
		}, "invalid_request_error"},
		{"Vercel's SDK", messages, vercel, 404, forgotten, []string{`"error_code":"thread_not_found"`}, "invalid_request_error"},
		{"Claude Code", messages, claudeCode, 404, forgotten, []string{`"type":"invalid_request_error"`, "HTTP 404: No such thread"}, "details"},
		{"opencode", messages, opencode, 404, forgotten, []string{`"type":"invalid_request_error"`}, "details"},
		{"Chat Completions", chat, plainSDK, 400, `{"error":{"message":"no such tool","type":"invalid_request_error","param":"tools","code":"tool_unknown"}}`, []string{
			`"code":"tool_unknown"`, `"param":"tools"`, `"message":"ridethrough: HTTP 400: no such tool"`,
		}, "\"message\":\"no such"},
		{"Responses", responses, plainSDK, 404, `{"error":{"message":"not there","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`, []string{
			"event: error\ndata: {", `"code":"previous_response_not_found"`, "event: response.failed",
		}, `"code":"invalid_request_error"`},
		{"Gemini", google, plainSDK, 400, `{"error":{"code":400,"message":"no such field","status":"FAILED_PRECONDITION","details":[{"reason":"R"}]}}`, []string{
			`"status":"FAILED_PRECONDITION"`, `"details":[{"reason":"R"}]`, "}\r\n\r\n",
		}, "INVALID_ARGUMENT"},
		{"another API's form", messages, plainSDK, 400, `{"error":{"message":"no","type":"x","code":"c"}}`, []string{`"type":"invalid_request_error"`, "HTTP 400: no"}, `"code"`},
		{"not whole", messages, plainSDK, 400, strings.Replace(forgotten, "No such", strings.Repeat("x", 70_000), 1), []string{`"type":"invalid_request_error"`}, "request_id"},
		{"long", messages, plainSDK, 400, strings.Replace(forgotten, "No such", strings.Repeat("x", 30_000), 1), []string{`"error_code":"thread_not_found"`}, "invalid_request_error"},
		{"text", messages, plainSDK, 400, "no such thing", []string{`"type":"invalid_request_error"`, "HTTP 400: no such thing"}, "details"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarnessOf(t, policy.Patient(), says(tt.status, tt.body, "Content-Type", "application/json").afterTwoFaults())
			resp, text, _ := w.get(tt.path, bodyOf(tt.path), "User-Agent", tt.agent)
			if resp.StatusCode != 200 || strings.Contains(text, tt.not) {
				t.Errorf("%s: got %d %q, want a stream without %q", tt.name, resp.StatusCode, text, tt.not)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s: got %q, want %q in it", tt.name, text, want)
				}
			}
			last := text[strings.LastIndex(text, "data: ")+len("data: "):]
			if end := strings.IndexAny(last, "\r\n"); end < 0 || !json.Valid([]byte(last[:end])) {
				t.Errorf("%s: the last event of %q is not one line of JSON", tt.name, text)
			}
		})
	}
}
