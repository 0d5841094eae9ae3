package classify_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// shapes are bodies as they arrive: whole, wrapped, quoted, cut off.
var shapes = []string{
	anthropicBody("overloaded_error", "Overloaded"),
	anthropicBody("rate_limit_error", "resets at 2026-11-02T21:00:40Z"),
	openAIBody("requests", "rate_limit_exceeded", "Limit 3, Used 3, Requested 1. Please try again in 7m12s."),
	"event: error\ndata: " + anthropicBody("api_error", "no"),
	`data: {"type":"response.failed","response":{"error":{"code":"server_error","message":"no"}}}`,
	`[{"error":{"code":429,"details":[{"violations":[{"quotaId":"PerDay"}]},{"retryDelay":"34.07s"}]}}]`,
	`{"error":{"message":"{\"error\":{\"code\":404,\"message\":\"\ud83d\ude00\"}}"}}`,
	`Bad response: {'status_code': 400, 'body': b'{"message":"don\'t"}'}`,
	`{"error":{"message":"cut of`,
	`<html><head><title>502 Bad Gateway</title></head><body><script>x</script>`,
	"error code: 524",
	`{"fault":{"faultstring":"Spike arrest violation","detail":{"errorcode":"policies.ratelimit"}}}`,
	`{"type":"about:blank","title":"Too Many Requests","detail":"请 30 秒后重试"}`,
	"upstream: 401 Unauthorized, 4",
	"\xff{\"\\u12",
	`{"error":{"message":"no","value":{"error_message":"{\"error\":{\"message\":\"too long\",\"code\":400}}"}}}`,
	`{"error":{"x":"[{\"message\":\"{\\\"error\\\":{\\\"y\\\":\\\"{\\\\\\\"message`,
	"not your usage limit, not your not your limit",
}

// resets are values of headers that state a wait or an instant.
var resets = []string{"7", "0.5", "-1", "NaN", "1e309", "6m0s", "1793653230", "1793653230000", "2026-11-02T21:00:09Z", "Mon, 02 Nov 2026 21:00:30 GMT", "1.2.3s", "5h5"}

// checkFault fails the test if a fault breaks an invariant of every fault.
func checkFault(t *testing.T, f *fault.Error) {
	t.Helper()
	switch {
	case f == nil:
		t.Fatal("no fault")
	case f.Wait < 0 || f.Wait > 400*24*time.Hour || f.RetryAfter(start) > 400*24*time.Hour:
		t.Fatalf("wait %v, reset at %v", f.Wait, f.ResetAt)
	case len(f.Message) > 2<<10 || !utf8.ValidString(f.Message) || strings.ContainsAny(f.Message, "\x1b\x00\a"):
		t.Fatalf("message %q", f.Message)
	case len(f.Code) > 128 || len(f.RequestID) > 128 || !utf8.ValidString(f.Code+f.RequestID):
		t.Fatalf("code %q, request id %q", f.Code, f.RequestID)
	case f.Rule == "" || f.Kind > fault.Canceled:
		t.Fatalf("kind %d, rule %q", f.Kind, f.Rule)
	}
}

func FuzzFromResponse(f *testing.F) {
	for i, s := range shapes {
		f.Add(200+50*i, "text/html", []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		checkFault(t, classify.FromResponse(status, http.Header{"Content-Type": {kind}}, body, start))
	})
}

func FuzzFromEvent(f *testing.F) {
	for _, s := range shapes {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		checkFault(t, classify.FromEvent(event, start))
		checkFault(t, classify.Of(errors.New(string(event)), start))
	})
}

func FuzzHint(f *testing.F) {
	for _, s := range resets {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, h := range []http.Header{
			{"Retry-After": {value}},
			{"Retry-After-Ms": {value}},
			{"X-Ratelimit-Reset": {value}, "X-Ratelimit-Remaining": {"0"}},
			{"Anthropic-Ratelimit-Unified-Status": {"rejected"}, "Anthropic-Ratelimit-Unified-Reset": {value}, "Date": {value}},
		} {
			checkFault(t, classify.FromResponse(429, h, []byte("try again in "+value), start))
		}
		checkFault(t, classify.FromResponse(429, nil, []byte(`{"error":{"retryDelay":"`+value+`","resets_at":`+value+`}}`), start))
	})
}
