package classify_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestFromResponse_WaitFromText(t *testing.T) {
	tests := []struct {
		says string
		wait time.Duration
	}{
		{"Limit hit. Come back in 3h 20m.", 200 * time.Minute},
		{"Model is warming up, about 45 seconds left", 45 * time.Second},
		{"wait 2 minutes", 2 * time.Minute},
		{"Your limit resets in 4 hours", 4 * time.Hour},
		{"The window will be available again after roughly 30s", 30 * time.Second},
		{"try again in 1 hour and 5 minutes", 65 * time.Minute},
		{"back off for 8s", 8 * time.Second},
		{"upstream unavailable, next attempt in 15 seconds", 15 * time.Second},
		{"20 seconds remaining", 20 * time.Second},
		{"try again in half an hour", 30 * time.Minute},
		{"Too many requests, please try again after an hour", time.Hour},
		{"or wait one minute.", time.Minute},
		{"Bitte in 15 Minuten erneut versuchen.", 15 * time.Minute},
		{"Bitte warten Sie 20 Sekunden.", 20 * time.Second},
		{"Bitte versuchen Sie es in einer halben Stunde wieder", 30 * time.Minute},
		{"Veuillez réessayer dans 2 heures", 2 * time.Hour},
		{"Inténtalo de nuevo en una hora", time.Hour},
		{"Tente novamente em 5 minutos", 5 * time.Minute},
		{"Riprova tra 30 secondi", 30 * time.Second},
		{"Попробуйте через 15 минут", 15 * time.Minute},
		{"Повторите через полчаса", 30 * time.Minute},
		{"请 12 分钟 30 秒后重试", 12*time.Minute + 30*time.Second},
		{"额度将在 3 小时后重置", 3 * time.Hour},
		{"请半小时后再试", 30 * time.Minute},
		{"2 時間後に再試行してください", 2 * time.Hour},
		{"30초 후 다시 시도하세요", 30 * time.Second},
		{"إعادة المحاولة خلال 90 ثواني", 90 * time.Second},
		{"请求在 30 秒后超时", 0},
		{"额度将于 11月5日后重置", 0},
		{"Zeitüberschreitung nach 30 Sekunden. Bitte versuchen Sie es erneut", 0},
		{"le délai de 30 secondes est dépassé, veuillez réessayer", 0},
		{"5 requests in an hour are allowed, please slow down", 0},
		{"Once an hour the index is rebuilt", 0},
		{"intent recognition took 3 seconds", 0},
		{"retry after 3 oracle errors", 0},
		{"Please try again in a few minutes", 0},
		{"locked until 15:00 UTC", 0},
		{"timed out after 30s", 0},
		{"timed out after 30s. Please try again", 0},
		{"limit of 5 requests in 60 seconds, try again later", 0},
		{"0 requests remaining this month", 0},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(503, nil, []byte(tt.says), start); f.RetryAfter(start) != tt.wait {
			t.Errorf("text %s: wait %v, want %v", tt.says, f.RetryAfter(start), tt.wait)
		}
	}
}

func TestFromResponse_WaitFieldUnits(t *testing.T) {
	for _, body := range []string{
		`{"error":"no","retry_in_seconds":90}`, `{"retryAfterMs":90000}`, `{"wait_ms":90000}`, `{"cooldown_seconds":90}`,
		`{"retry_after":"90"}`, `{"error":{"reset_in_minutes":1.5}}`, `{"try_again_in":"1m30s"}`,
	} {
		if f := classify.FromResponse(429, nil, []byte(body), start); f.Wait != 90*time.Second {
			t.Errorf("%s: %v", body, f.Wait)
		}
	}
}

func TestOf_ErrorsOfOtherRuntimes(t *testing.T) {
	tests := []struct {
		says string
		kind fault.Kind
	}{
		{"The remote name could not be resolved: 'h'", fault.Unavailable},
		{"A connection attempt failed because the connected party did not properly respond after a period of time", fault.UpstreamTimeout},
		{"The underlying connection was closed: Could not establish trust relationship for the SSL/TLS secure channel.", fault.Invalid},
		{"TaskCanceledException: canceled due to the configured HttpClient.Timeout of 100 seconds elapsing.", fault.Timeout},
		{"java.util.concurrent.CancellationException: Task was cancelled", fault.Canceled},
		{"java.net.SocketTimeoutException: connect timed out", fault.UpstreamTimeout},
		{"java.net.SocketTimeoutException: Read timed out", fault.Timeout},
		{"cURL error 28: Operation timed out", fault.UpstreamTimeout},
		{"cURL error 6: Could not resolve host: h", fault.Unavailable},
		{"cURL error 60: SSL certificate problem", fault.Invalid},
		{"curl: (7) Failed", fault.Unavailable},
		{"Net::OpenTimeout: execution expired", fault.UpstreamTimeout},
		{"Errno::ECONNRESET", fault.Unavailable},
		{`Error Domain=NSURLErrorDomain Code=-1001 "x"`, fault.Timeout},
		{"(NSURLErrorDomain error -1009.)", fault.Unavailable},
		{"(NSURLErrorDomain error -1202.)", fault.Invalid},
		{"websocket closed: 1013 try again later", fault.Overloaded},
		{"WebSocket connection closed: code=1012", fault.Overloaded},
		{"websocket: close 1011 (internal server error)", fault.Unavailable},
		{"Bad Gateway: upstream replied 401 Unauthorized", fault.Auth},
	}
	for _, tt := range tests {
		if f := classify.Of(errors.New(tt.says), start); f.Kind != tt.kind {
			t.Errorf("text %s: kind %v by %s, want %v", tt.says, f.Kind, f.Rule, tt.kind)
		}
	}
}

func TestFromResponse_SizeAboveLimitIsTooLong(t *testing.T) {
	tests := []struct {
		says string
		kind fault.Kind
	}{
		{"Conversation is too large: 181203 tokens, the model accepts 131072.", fault.TooLong},
		{"The combined length surpasses the model's window (65536).", fault.TooLong},
		{"Your messages add up to 213,442 tokens, more than the 200,000 this model takes.", fault.TooLong},
		{"input_length (40211) > max_input_length (32768)", fault.TooLong},
		{"n_predict tokens: 100000 > 8192, the limit of output tokens", fault.Invalid},
		{"prompt of 1000 tokens; the limit is 2000", fault.Invalid},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(400, nil, []byte(`{"error":"`+tt.says+`"}`), start); f.Kind != tt.kind {
			t.Errorf("text %s: kind %v by %s, want %v", tt.says, f.Kind, f.Rule, tt.kind)
		}
	}
}

func TestFromResponse_MoneyWordsAndNumbersAloneProveNothing(t *testing.T) {
	tests := []struct {
		status int
		body   string
	}{
		{500, `{"error":{"message":"could not fetch plan for request","type":"server_error"}}`},
		{503, `{"error":{"message":"No available workers; usage is very high today","type":"service_unavailable"}}`},
		{502, `{"error":{"message":"Upstream balance check failed: connection reset"}}`},
		{500, `{"error":{"message":"Failed to compute token usage","type":"internal_error"}}`},
		{503, `Service is used beyond capacity this hour, please retry`},
		{529, `{"error":{"type":"overloaded_error","message":"Overloaded. Your usage was not charged."}}`},
		{429, `{"error":{"message":"Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. You can increase your limit by adding a payment method at https://vendor.test/billing.","code":"rate_limit_exceeded"}}`},
		{500, `The server had an error. Please include your billing id when you write about credits.`},
		{500, `panic: runtime error: index out of range [401] with length 3`},
		{429, `{"error":{"message":"Too many concurrent requests for your plan, slow down","type":"rate_limit_error"}}`},
		{500, `{"error":{"message":"Exceeded timeout waiting for policy engine","type":"server_error"}}`},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); !f.Retryable() {
			t.Errorf("%d %s: %v by %s", tt.status, tt.body, f.Kind, f.Rule)
		}
	}
}

// A refusal for too many requests in progress says so: it is no rate.
func TestOf_TooManyAtOnce(t *testing.T) {
	for body, want := range map[string]bool{
		`{"error":{"message":"Too many concurrent requests for your plan, slow down","type":"rate_limit_error"}}`:                         true,
		`{"type":"error","error":{"type":"rate_limit_error","message":"Number of concurrent connections has exceeded your rate limit."}}`: true,
		`{"error":{"message":"Number of concurrent requests has exceeded your limit","type":"rate_limit_error"}}`:                         true,
		`{"error":{"message":"request reached max organization concurrency: 3, please try again after 1 seconds"}}`:                       true,
		`{"error":{"message":"Rate limit reached for requests per min (RPM): Limit 3, Used 3","type":"requests"}}`:                        false,
		`{"error":{"message":"Too many requests"}}`: false,
	} {
		f := classify.Classifier{}.FromResponse(429, http.Header{}, []byte(body), time.Now())
		if f.AtOnce != want || f.Kind != fault.RateLimited {
			t.Errorf("%s: %v, at once %v (%s), want rate limited and %v", body, f.Kind, f.AtOnce, f.Rule, want)
		}
	}
}
