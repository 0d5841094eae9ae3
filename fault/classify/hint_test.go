package classify_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// headers makes a header from names and values.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestFromResponse_WaitFromHeaders(t *testing.T) {
	s, ms := time.Second, time.Millisecond
	tests := []struct {
		header http.Header
		want   time.Duration
	}{
		{headers("retry-after", "7"), 7 * s},
		{headers("retry-after", "0.5"), 500 * ms},
		{headers("retry-after", "6m0s"), 360 * s},
		{headers("retry-after", "Mon, 02 Nov 2026 21:00:30 GMT"), 30 * s},
		{headers("retry-after", "Mon, 02 Nov 2026 19:00:30 GMT", "date", "Mon, 02 Nov 2026 19:00:00 GMT"), 30 * s},
		{headers("retry-after", "7", "retry-after-ms", "1500"), 1500 * ms},
		{headers("retry-after", "Mon, 02 Nov 2026 20:59:59 GMT"), 0},
		{headers("retry-after", "-7"), 0},
		{headers("retry-after", "NaN"), 0},
		{headers("retry-after", "Inf"), 0},
		{headers("retry-after", "-1e1000"), 0},
		{headers("retry-after", "soon"), 0},
		{headers("retry-after-ms", "NaN"), 0},
		{headers("x-ms-retry-after-ms", "1500", "retry-after", "9"), 1500 * ms},
		{headers("x-ms-retry-after-ms", "soon", "retry-after", "9"), 9 * s},
		{headers("x-amz-retry-after", "1500", "retry-after", "9"), 1500 * ms},
		{headers("x-amz-retry-after", "20000"), 20 * s},
		{headers("anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2026-11-02T21:00:09Z"), 9 * s},
		{headers("anthropic-ratelimit-tokens-remaining", "9", "anthropic-ratelimit-tokens-reset", "2026-11-02T21:00:09Z"), 0},
		{headers("anthropic-ratelimit-unified-status", "allowed", "anthropic-ratelimit-unified-reset", "1793653230"), 0},
		{headers("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "20ms"), 20 * ms},
		{headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s"), 360 * s},
		{headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "12"), 12 * s},
		{headers("x-ratelimit-remaining-tokens", "5", "x-ratelimit-reset-tokens", "6m0s"), 0},
		{headers("x-ratelimit-reset-tokens", "6m0s"), 0},
		{headers("x-ratelimit-remaining", "0", "x-ratelimit-reset", "1793653230000"), 30 * s},
	}
	for _, tt := range tests {
		f := classify.FromResponse(http.StatusTooManyRequests, tt.header, nil, start)
		if got := f.RetryAfter(start); got != tt.want || f.Kind != fault.RateLimited {
			t.Errorf("header %v: kind %v, wait %v; want wait %v", tt.header, f.Kind, got, tt.want)
		}
	}
}

func TestFromResponse_WaitFromBody(t *testing.T) {
	s := time.Second
	tests := []struct {
		body string
		want time.Duration
	}{
		{`{"error":{"message":"Please try again in 6ms."}}`, 6 * time.Millisecond},
		{`{"error":{"message":"Please try again in 7m12s. Visit us."}}`, 432 * s},
		{`{"error":{"message":"Please wait 6 seconds for your limit to reset"}}`, 6 * s},
		{`{"error":{"message":"Retry after: 30 seconds"}}`, 30 * s},
		{`{"error":{"message":"try again in about 1 minute 30 seconds"}}`, 90 * s},
		{`{"error":{"message":"resets at 2026-11-02T21:00:40Z (2056)"}}`, 40 * s},
		{`{"error":{"message":"resets at 2026-11-02T20:00:00Z"}}`, 0},
		{`{"error":{"message":"It will reset at 2026-11-03 05:00:40 +0800 CST. Upgrade for more."}}`, 40 * s},
		{`{"error":{"message":"Access resets on 2026-11-02 21:00:40 UTC."}}`, 40 * s},
		{`{"error":{"message":"available again at 2026-11-02 at 21:01 UTC"}}`, 60 * s},
		{`{"error":{"message":"It will reset at 2026-11-02 21:00:40"}}`, 0},
		{`{"error":{"message":"It will reset at 2026-11-02 21:00:40 CST"}}`, 0},
		{`{"error":{"code":"quota_exceeded","message":"spent"},"meta":{"reset_at":"2026-11-02T21:00:40Z"}}`, 40 * s},
		{`{"error":{"message":"spent"},"other":{"reset_at":"2026-11-02T21:00:40Z"}}`, 0},
		{`{"error":{"message":"created within the last 5 minutes, please wait a moment"}}`, 0},
		{`{"error":{"message":"retry after 3 attempts"}}`, 0},
		{`{"error":{"message":"retry in -5s"}}`, 0},
		{`{"error":{"message":"retry in 99999999999999999999999999 days"}}`, 0},
		{`{"error":{"message":"no","details":[{"@type":"google.rpc.RetryInfo","retryDelay":"34.07s"}]}}`, 34070 * time.Millisecond},
		{`{"error":{"message":"retry in 34.5s","details":[{"retryDelay":"34s"}]}}`, 34500 * time.Millisecond},
		{`{"error":{"message":"retry in 90s","details":[{"retryDelay":"34s"}]}}`, 34 * s},
		{`{"error":{"message":"no","details":[{"retryDelay":"-34s"}]}}`, 0},
		{`{"error":"loading","estimated_time":20.5}`, 20500 * time.Millisecond},
		{`{"error":{"message":"no","resets_in_seconds":60}}`, 60 * s},
		{`{"error":{"message":"no","retry_after_ms":60}}`, 60 * time.Millisecond},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(http.StatusTooManyRequests, nil, []byte(tt.body), start); f.RetryAfter(start) != tt.want {
			t.Errorf("body %s: wait %v, want %v", tt.body, f.RetryAfter(start), tt.want)
		}
	}
}

func TestFromResponse_FifteenMinutesDivideRateLimitFromQuota(t *testing.T) {
	plain, daily := anthropicBody("rate_limit_error", "Too fast"), anthropicBody("rate_limit_error", "used up: 100 requests per day")
	tests := []struct {
		body   string
		header http.Header
		want   fault.Kind
	}{
		{plain, headers("retry-after", "900"), fault.RateLimited},
		{plain, headers("retry-after", "901"), fault.Quota},
		{plain, nil, fault.RateLimited},
		{daily, headers("retry-after", "900"), fault.RateLimited},
		{daily, headers("retry-after", "901"), fault.Quota},
		{daily, nil, fault.Quota},
		{plain, headers("anthropic-ratelimit-unified-status", "rejected", "retry-after", "2892"), fault.Quota},
		{plain, headers("anthropic-ratelimit-unified-status", "rejected", "retry-after", "30"), fault.RateLimited},
		{plain, headers("anthropic-ratelimit-unified-status", "rejected"), fault.Quota},
		{anthropicBody("billing_error", "Top up"), headers("retry-after", "30"), fault.Quota},
		{anthropicBody("overloaded_error", "Overloaded"), headers("retry-after", "3600"), fault.Overloaded},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(http.StatusTooManyRequests, tt.header, []byte(tt.body), start); f.Kind != tt.want {
			t.Errorf("body %s, header %v: kind %v by %s, want %v", tt.body, tt.header, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromResponse_QuotaResetAt(t *testing.T) {
	h := headers("anthropic-ratelimit-unified-status", "rejected", "anthropic-ratelimit-unified-reset", "1793653200", "retry-after", "2892")
	f := classify.FromResponse(http.StatusTooManyRequests, h, nil, start)
	if f.Kind != fault.Quota || f.Wait != 2892*time.Second || !f.ResetAt.Equal(start) && f.ResetAt.Before(start) {
		t.Errorf("kind %v, wait %v, reset at %v; want a quota with its reset", f.Kind, f.Wait, f.ResetAt)
	}
	f = classify.FromResponse(http.StatusTooManyRequests, headers("retry-after", "3600"), nil, start)
	if !f.ResetAt.Equal(start.Add(time.Hour)) {
		t.Errorf("reset at %v, want an hour from now", f.ResetAt)
	}
	body := anthropicBody("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.")
	f = classify.FromResponse(http.StatusBadRequest, nil, []byte(body), start)
	if want := time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC); f.Kind != fault.Quota || !f.ResetAt.Equal(want) {
		t.Errorf("kind %v, reset at %v, want quota, %v", f.Kind, f.ResetAt, want)
	}
}

// openai-go refuses to wait for these too, instead of asking again at once.
func TestFromResponse_OverflowingRetryAfterIsTheLongestWait(t *testing.T) {
	for _, header := range []http.Header{
		headers("retry-after", "1e100"),
		headers("retry-after", "1e1000"),
		headers("retry-after", "99999999"),
		headers("retry-after", "99999999999999999999"),
		headers("retry-after-ms", "1e1000"),
		headers("retry-after-ms", "1e100", "retry-after", "1"),
	} {
		f := classify.FromResponse(http.StatusTooManyRequests, header, nil, start)
		if want := 400 * 24 * time.Hour; f.RetryAfter(start) != want || f.Kind != fault.Quota {
			t.Errorf("header %v: kind %v, wait %v; want quota, %v", header, f.Kind, f.RetryAfter(start), want)
		}
	}
}

func TestFromResponse_RateLimitHeader(t *testing.T) {
	tests := []struct {
		value string
		wait  time.Duration
	}{
		{`"burst";r=0;t=45`, 45 * time.Second},
		{`"burst";r=0;t=45, "daily";r=0;t=90`, 90 * time.Second},
		{`"burst";r=3;t=45`, 0}, // some is left
		{"limit=100, remaining=0, reset=37", 37 * time.Second},
		{"limit=100, remaining=1, reset=37", 0},
		{`"burst";r=0;t=1e99`, 0},
		{`;;==`, 0},
	}
	for _, tt := range tests {
		f := classify.FromResponse(429, headers("ratelimit", tt.value), nil, start)
		if got := f.RetryAfter(start); got != tt.wait {
			t.Errorf("RateLimit: %s: wait %v, want %v", tt.value, got, tt.wait)
		}
	}
}
