package classify_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// The frames are those that package dialect cuts out of each API's stream.
func TestFromEvent_FramesOfEveryAPI(t *testing.T) {
	const (
		google = `{"error": {"code": 503,"message": "The model is overloaded.","status": "UNAVAILABLE"}}`
		crash  = `{"type":"error","error":{"type":"internal_error","message":"The model has crashed without additional information.","code":null,"param":null}}`
	)
	tests := []struct {
		frame   string
		want    fault.Kind
		code    string
		message string
		wait    time.Duration
	}{
		{"data: " + google + "\r\n\r\n", fault.Overloaded, "UNAVAILABLE", "The model is overloaded.", 0},
		{"[" + google, fault.Overloaded, "UNAVAILABLE", "The model is overloaded.", 0},
		{"\n,\r\n" + google, fault.Overloaded, "UNAVAILABLE", "The model is overloaded.", 0},
		{"{\n  \"error\": {\n    \"code\": 500,\n    \"status\": \"INTERNAL\",\n    \"message\": \"Internal error\"\n  }\n}\n", fault.Unavailable, "INTERNAL", "Internal error", 0},
		{`{"error":"an error was encountered while running the model"}` + "\n", fault.Unavailable, "", "an error was encountered while running the model", 0},
		{`{"error":"server busy, please try again.  maximum pending requests exceeded"}` + "\n", fault.Overloaded, "", "server busy, please try again.  maximum pending requests exceeded", 0},
		{"event: error\ndata: " + crash + "\n\n", fault.Unavailable, "internal_error", "The model has crashed without additional information.", 0},
		{`data: {"type":"error","error":{"type":"invalid_request","message":"\"model\" is required","code":"missing_required_parameter","param":"model"}}` + "\n\n", fault.Invalid, "missing_required_parameter", `"model" is required`, 0},
		{`data: {"type":"error","error":{"type":"not_implemented","message":"no"}}` + "\n\n", fault.Invalid, "not_implemented", "no", 0},
		{"event: error\n" + `data: {"type":"error","sequence_number":2,"error":{"type":"too_many_requests","code":"too_many_requests","message":"Too Many Requests","param":null}}` + "\n\n", fault.RateLimited, "too_many_requests", "Too Many Requests", 0},
		{"event: response.incomplete\n" + `data: {"type":"response.incomplete","response":{"status":"incomplete","error":{"code":"server_error","message":"gone"},"incomplete_details":null}}` + "\n\n", fault.Unavailable, "server_error", "gone", 0},
		{"event: response.failed\n" + `data: {"type":"response.failed","response":{"status":"failed","instructions":"Say: quota exceeded","error":{"code":"rate_limit_exceeded","message":"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 22999. Please try again in 11.054s."},"tools":[]}}` + "\n\n", fault.RateLimited, "rate_limit_exceeded", "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 22999. Please try again in 11.054s.", 11054 * time.Millisecond},
	}
	for _, tt := range tests {
		f := classify.FromEvent([]byte(tt.frame), start)
		if f.Kind != tt.want || f.Code != tt.code || f.Message != tt.message || f.Wait != tt.wait {
			t.Errorf("FromEvent(%q): kind %v, code %q, message %q, wait %v, by %s; want %+v", tt.frame, f.Kind, f.Code, f.Message, f.Wait, f.Rule, tt)
		}
	}
}
