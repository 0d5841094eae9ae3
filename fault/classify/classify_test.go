package classify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/policy"
)

// start is the current time in these tests.
var start = time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)

// anthropicBody makes an error body as the Messages API sends it.
func anthropicBody(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_011"}`, kind, message)
}

// openAIBody makes an error body as Chat Completions sends it.
func openAIBody(kind, code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
}

func TestFromResponse_Anthropic(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{529, anthropicBody("overloaded_error", "Overloaded"), fault.Overloaded},
		{500, anthropicBody("api_error", "Internal server error"), fault.Unavailable},
		{429, anthropicBody("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit"), fault.RateLimited},
		{429, anthropicBody("rate_limit_error", "This request would exceed your organization's rate limit of 80,000 input tokens per minute."), fault.RateLimited},
		{429, anthropicBody("rate_limit_error", "Number of requests has exceeded your daily request limit"), fault.Quota},
		{429, anthropicBody("rate_limit_error", "Extra usage is required for long context requests."), fault.Refused},
		{400, anthropicBody("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), fault.Quota},
		{400, anthropicBody("invalid_request_error", "You have reached your specified API usage limits."), fault.Quota},
		{400, anthropicBody("invalid_request_error", "prompt is too long: 201000 tokens > 200000 maximum"), fault.TooLong},
		{400, anthropicBody("invalid_request_error", "messages.1.content: Field required"), fault.Invalid},
		{413, anthropicBody("request_too_large", "Request exceeds the maximum size"), fault.TooLong},
		{401, anthropicBody("authentication_error", "invalid x-api-key"), fault.Auth},
		{403, anthropicBody("permission_error", "Your API key does not have permission to use the specified resource."), fault.Refused},
		{404, anthropicBody("not_found_error", "model: claude-9"), fault.Invalid},
		{402, anthropicBody("billing_error", "There's an issue with your billing."), fault.Quota},
		{504, anthropicBody("timeout_error", "Request timed out. Please try again."), fault.UpstreamTimeout},
		{409, anthropicBody("conflict_error", "The resource is being changed."), fault.Unknown},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want || f.Status != tt.status {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", tt.status, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromResponse_OpenAI(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{429, openAIBody("insufficient_quota", "insufficient_quota", "You exceeded your current quota."), fault.Quota},
		{429, openAIBody("requests", "rate_limit_exceeded", "Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s."), fault.RateLimited},
		{429, openAIBody("requests", "rate_limit_exceeded", "Rate limit reached on requests per day (RPD): Limit 200. Please try again in 7m12s."), fault.RateLimited},
		{429, openAIBody("requests", "rate_limit_exceeded", "Rate limit reached on requests per day (RPD): Limit 200. Please try again in 2h8m."), fault.Quota},
		{429, openAIBody("tokens", "rate_limit_exceeded", "Request too large for o9 on tokens per min (TPM): Limit 30000, Requested 45000."), fault.Invalid},
		{429, openAIBody("tokens", "rate_limit_exceeded", "On tokens per min: Limit 30000, Requested 30001."), fault.Invalid},
		{429, openAIBody("tokens", "rate_limit_exceeded", "On tokens per min: Limit 30000, Used 29000, Requested 2000."), fault.RateLimited},
		{429, openAIBody("server_error", "", "The engine is currently overloaded, please try again later"), fault.Overloaded},
		{500, openAIBody("server_error", "", "The server had an error while processing your request."), fault.Unavailable},
		{503, openAIBody("server_error", "slow_down", "Slow down"), fault.Overloaded},
		{400, openAIBody("invalid_request_error", "context_length_exceeded", "Your input exceeds the context window."), fault.TooLong},
		{400, openAIBody("invalid_request_error", "billing_hard_limit_reached", "Billing hard limit has been reached"), fault.Quota},
		{400, openAIBody("invalid_request_error", "invalid_prompt", "Please try again with a different prompt."), fault.Refused},
		{400, `{"error":{"message":"Invalid schema for function 'overloaded'.","type":"invalid_request_error","param":"tools[0]"}}`, fault.Invalid},
		{400, `{"error":{"message":"could not parse JSON body: unexpected EOF"}}`, fault.Invalid},
		{401, openAIBody("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-1234567890abcdef."), fault.Auth},
		{403, openAIBody("request_forbidden", "unsupported_country_region_territory", "Country, region, or territory not supported"), fault.Refused},
		{404, openAIBody("invalid_request_error", "model_not_found", "The model does not exist"), fault.Invalid},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", tt.status, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromEvent_Forms(t *testing.T) {
	tests := []struct {
		event  string
		want   fault.Kind
		status int
		code   string
	}{
		{"event: error\ndata: " + anthropicBody("overloaded_error", "Overloaded"), fault.Overloaded, 200, "overloaded_error"},
		{"event: error\r\ndata: " + anthropicBody("api_error", "Internal server error") + "\r\n\r\n", fault.Unavailable, 200, "api_error"},
		{anthropicBody("rate_limit_error", "Too fast"), fault.RateLimited, 200, "rate_limit_error"},
		{anthropicBody("invalid_request_error", "no"), fault.Invalid, 200, "invalid_request_error"},
		{`data: {"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"no"}}}`, fault.Quota, 200, "insufficient_quota"},
		{`data: {"type":"response.failed","response":{"error":{"code":"server_error","message":"no"}}}`, fault.Unavailable, 200, "server_error"},
		{`data: {"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`, fault.Refused, 200, "content_filter"},
		{`data: {"error":{"code":502,"message":"Provider returned error"},"choices":[]}`, fault.Unavailable, 502, ""},
		{`{"error":"model runner has unexpectedly stopped","status":500}`, fault.Unavailable, 500, ""},
		{"event: error\ndata: {\"error\":\ndata: {\"type\":\"overloaded_error\"}}", fault.Overloaded, 200, "overloaded_error"},
		{`data: {"error":`, fault.Unknown, 200, ""},
		{"", fault.Unknown, 200, ""},
	}
	for _, tt := range tests {
		if f := classify.FromEvent([]byte(tt.event), start); f.Kind != tt.want || f.Status != tt.status || f.Code != tt.code {
			t.Errorf("FromEvent(%q): kind %v, status %d, code %q by %s; want %v, %d, %q", tt.event, f.Kind, f.Status, f.Code, f.Rule, tt.want, tt.status, tt.code)
		}
	}
}

func TestFromResponse_StatusAlone(t *testing.T) {
	tests := []struct {
		status int
		want   fault.Kind
	}{
		{302, fault.Invalid},
		{400, fault.Invalid},
		{401, fault.Auth},
		{402, fault.Quota},
		{403, fault.Refused},
		{404, fault.Invalid},
		{407, fault.Auth},
		{408, fault.UpstreamTimeout},
		{409, fault.Unknown},
		{413, fault.TooLong},
		{418, fault.Invalid},
		{422, fault.Invalid},
		{425, fault.Unavailable},
		{429, fault.RateLimited},
		{451, fault.Refused},
		{499, fault.Canceled},
		{500, fault.Unavailable},
		{501, fault.Invalid},
		{502, fault.Unavailable},
		{503, fault.Overloaded},
		{504, fault.UpstreamTimeout},
		{520, fault.Unavailable},
		{522, fault.UpstreamTimeout},
		{524, fault.UpstreamTimeout},
		{529, fault.Overloaded},
		{599, fault.UpstreamTimeout},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, nil, start); f.Kind != tt.want {
			t.Errorf("FromResponse(%d): kind %v, want %v", tt.status, f.Kind, tt.want)
		}
	}
}

func TestFromResponse_ConflictIsTriedAFewTimes(t *testing.T) {
	for _, body := range []string{"", anthropicBody("conflict_error", "The resource is being changed."), `{"detail":"busy with another request"}`} {
		if f := classify.FromResponse(409, nil, []byte(body), start); f.Retries != 2 {
			t.Errorf("409 %s: %d retries of a %v, want 2", body, f.Retries, f.Kind)
		}
	}
}

// The code in the details is precise where the type beside it is broad and the words may change.
func TestFromResponse_AnthropicErrorCodeDecides(t *testing.T) {
	for _, tt := range []struct {
		code   string
		status int
		kind   string // the broad type
		want   fault.Kind
	}{
		{"contract_spend_limit_reached", 429, "rate_limit_error", fault.Quota},
		{"enforced_spend_limit_reached", 429, "rate_limit_error", fault.Quota},
		{"ramp_limit_exceeded", 429, "rate_limit_error", fault.RateLimited},
		{"linked_organization_spend_limit_reached", 402, "billing_error", fault.Quota},
		{"linked_organization_billing_unavailable", 402, "billing_error", fault.Quota},
		{"organization_on_hold", 400, "invalid_request_error", fault.Refused},
		{"claude_code_key_creator_not_member", 400, "invalid_request_error", fault.Auth},
		{"cmek_key_disabled", 400, "invalid_request_error", fault.Refused},
		{"cmek_key_unreachable", 503, "api_error", fault.Unavailable},
		{"compaction_unavailable", 529, "overloaded_error", fault.Overloaded},
		{"request_body_timeout", 400, "invalid_request_error", fault.Unavailable},
		{"request_body_too_large_after_decoding", 413, "request_too_large", fault.TooLong},
		{"available_tools_limit_exceeded", 400, "invalid_request_error", fault.Invalid},
		{"thread_not_found", 404, "not_found_error", fault.Invalid},
		{"thread_continue_in_flight", 400, "invalid_request_error", fault.Invalid},
	} {
		for _, body := range []string{
			`{"type":"error","error":{"type":"` + tt.kind + `","message":"Please try again later.","details":{"error_code":"` + tt.code + `"}},"request_id":"req_011"}`,
			`{"error_code":"` + tt.code + `"}`,
			tt.code,
		} {
			f := classify.FromResponse(tt.status, nil, []byte(body), start)
			if f.Kind != tt.want || f.Window {
				t.Errorf("%d %s: %v by %s, want %v", tt.status, body, f.Kind, f.Rule, tt.want)
			}
		}
	}
}

// A thread of messages takes one request at a time: the next one passes when that has ended.
func TestFromResponse_RequestInProgressIsTriedAgain(t *testing.T) {
	body := anthropicBody("invalid_request_error", "Another request is in progress for this thread, please try again")
	f := classify.FromResponse(409, nil, []byte(body), start)
	if f.Kind != fault.RateLimited || f.Final {
		t.Errorf("409 %s: kind %v, final %v by %s; want rate-limited, to be tried again", body, f.Kind, f.Final, f.Rule)
	}
	if p := policy.Patient(); !p.RetryOn.Has(f.Kind) {
		t.Errorf("409 %s: the policy patient does not retry %v", body, f.Kind)
	}
}

func TestFromResponse_InnermostCauseDecides(t *testing.T) {
	tests := []struct {
		status  int
		body    string
		want    fault.Kind
		message string
	}{
		{502, `{"error":{"message":"{\"error\":{\"type\":\"authentication_error\",\"message\":\"bad key\"}}"}}`, fault.Auth, "bad key"},
		{500, `{"error":{"message":"upstream: {\"error\":{\"code\":404,\"message\":\"gone\"}}","type":"api_error"}}`, fault.Invalid, "gone"},
		{400, `Bad response: {'headers': {}, 'body': b'{"type":"overloaded_error","message":"Busy"}'}`, fault.Overloaded, "Busy"},
		{429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"Insufficient credits"}}}`, fault.Quota, "Insufficient credits"},
		{400, `{"error":{"message":"wrapped"},"upstream_details":{"error":{"message":"context_length_exceeded"}}}`, fault.TooLong, "wrapped"},
		{502, `relay: access denied for this role`, fault.Refused, "relay: access denied for this role"},
		{429, `{"error":{"type":"rate_limit_error","message":"Your credit balance`, fault.Quota, "Your credit balance"},
		{503, `[{"error":{"message":"first"}},{"error":{"message":"second"}}]`, fault.Overloaded, "first"},
		{200, `{"detail":[{"msg":"field required","type":"missing","input":{"error":{"type":"overloaded_error"}}}]}`, fault.Unknown, "field required"},
		{429, `{"detail":{"error":"Model busy, retry later"}}`, fault.Overloaded, "Model busy, retry later"},
		{400, `{"error":{"message":"pair \ud83d\ude00 lone \ud83d end"}}`, fault.Invalid, "pair 😀 lone � end"},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want || f.Message != tt.message {
			t.Errorf("FromResponse(%s): kind %v by %s, message %q; want %v, %q", tt.body, f.Kind, f.Rule, f.Message, tt.want, tt.message)
		}
	}
}

func TestFromResponse_WebPages(t *testing.T) {
	const nginx = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx/1.27</center></body></html>"
	const challenge = `<!DOCTYPE html><html><head><title>Just a moment...</title><script>var overloaded = 1 < 2</script></head><body>Checking</body></html>`
	tests := []struct {
		status  int
		body    string
		want    fault.Kind
		message string
	}{
		{502, nginx, fault.Unavailable, "502 Bad Gateway · nginx/1.27"},
		{200, nginx, fault.Unavailable, "502 Bad Gateway · nginx/1.27"},
		{403, challenge, fault.Refused, "Just a moment... · Checking"},
		{503, challenge, fault.Refused, "Just a moment... · Checking"},
		{200, "<html><title>Log in</title></html>", fault.Unavailable, "Log in"},
		{524, "error code: 524", fault.UpstreamTimeout, "error code: 524"},
		{429, "error code: 1015", fault.RateLimited, "error code: 1015"},
		{503, "no healthy upstream", fault.Overloaded, "no healthy upstream"},
		{503, "upstream connect error or disconnect/reset before headers. reset reason: connection timeout", fault.UpstreamTimeout, "upstream connect error or disconnect/reset before headers. reset reason: connection timeout"},
		{404, "<html><script>never closed", fault.Invalid, "never closed"},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want || f.Message != tt.message {
			t.Errorf("FromResponse(%d, %.40s): kind %v by %s, message %q; want %v, %q", tt.status, tt.body, f.Kind, f.Rule, f.Message, tt.want, tt.message)
		}
	}
}

func TestOf_StatusInText(t *testing.T) {
	tests := []struct {
		text   string
		want   fault.Kind
		status int
	}{
		{`POST "https://api.example.com/v1": 429 Too Many Requests {"message":"slow","type":"requests"}`, fault.RateLimited, 429},
		{"error, status code: 503, message: try later", fault.Overloaded, 503},
		{"[400 Bad Request] no", fault.Invalid, 400},
		{"API error (401): no", fault.Auth, 401},
		{"exit status 2 after 500 tokens, see 127.0.0.1:502", fault.Unknown, 0},
		{"Error: insufficient_quota: no", fault.Quota, 0},
		{"rpc error: code = ResourceExhausted desc = no", fault.RateLimited, 0},
		{"rpc error: code = Unavailable desc = no", fault.Unavailable, 0},
	}
	for _, tt := range tests {
		if f := classify.Of(errors.New(tt.text), start); f.Kind != tt.want || f.Status != tt.status {
			t.Errorf("Of(%s): kind %v, status %d by %s; want %v, %d", tt.text, f.Kind, f.Status, f.Rule, tt.want, tt.status)
		}
	}
}

func TestClassifier_UserJudgesDecideFirst(t *testing.T) {
	c := classify.Classifier{Judges: []classify.Judge{
		func(classify.Evidence) (classify.Ruling, bool) { return classify.Ruling{}, false },
		func(e classify.Evidence) (classify.Ruling, bool) {
			return classify.Ruling{Kind: fault.RateLimited, Rule: "mine"}, e.Named("insufficient-quota") || e.Says("come back * tomorrow") || errors.Is(e.Err, http.ErrNotSupported)
		},
	}}
	spent := []byte(openAIBody("insufficient_quota", "", "no"))
	header := http.Header{"Retry-After": {"7200"}}
	for _, f := range []*fault.Error{
		c.FromResponse(429, header, spent, start),
		c.FromResponse(400, nil, []byte(`{"error":"Come back again tomorrow"}`), start),
		c.FromEvent(spent, start),
		c.Of(fmt.Errorf("wrapped: %w", http.ErrNotSupported), start),
	} {
		if f.Kind != fault.RateLimited || f.Rule != "mine" {
			t.Errorf("with a user's judge: kind %v by %s, want rate-limited by mine", f.Kind, f.Rule)
		}
	}
}

func TestOf_ReturnsFaultInChain(t *testing.T) {
	known := &fault.Error{Kind: fault.Truncated}
	if f := classify.Of(fmt.Errorf("reading: %w", known), start); f != known {
		t.Errorf("Of(wrapped fault) = %v, want the fault itself", f)
	}
	if f := classify.Of(nil, start); f != nil {
		t.Errorf("Of(nil) = %v, want nil", f)
	}
}

func TestBroken_IsTruncatedUnlessMoreIsKnown(t *testing.T) {
	tests := []struct {
		err  error
		want fault.Kind
	}{
		{nil, fault.Truncated},
		{errors.New("unexpected EOF"), fault.Truncated},
		{errors.New("whatever"), fault.Truncated},
		{context.Canceled, fault.Canceled},
		{context.DeadlineExceeded, fault.Timeout},
		{&fault.Error{Kind: fault.Overloaded}, fault.Overloaded},
	}
	for _, tt := range tests {
		if f := classify.Broken(tt.err, start); f.Kind != tt.want || !errors.Is(f, tt.err) && tt.err != nil {
			t.Errorf("Broken(%v): kind %v, want %v", tt.err, f.Kind, tt.want)
		}
	}
}

func TestFromResponse_XShouldRetry(t *testing.T) {
	no, yes := http.Header{"X-Should-Retry": {"false"}}, http.Header{"X-Should-Retry": {"true"}}
	if f := classify.FromResponse(429, no, nil, start); !f.Final || f.Kind != fault.RateLimited {
		t.Errorf("x-should-retry: false: final %v, kind %v; want true, rate-limited", f.Final, f.Kind)
	}
	if f := classify.FromResponse(418, yes, nil, start); f.Final || f.Kind != fault.Unavailable {
		t.Errorf("x-should-retry: true on an unlisted status: final %v, kind %v; want false, unavailable", f.Final, f.Kind)
	}
	if f := classify.FromResponse(401, yes, nil, start); f.Kind != fault.Auth {
		t.Errorf("x-should-retry: true on a listed status: kind %v, want auth", f.Kind)
	}
}

func TestFromResponse_GatewayStopIsFinal(t *testing.T) {
	for stop, givenUp := range map[string]bool{"exhausted": true, "over-budget": true, "final": false} {
		h := http.Header{classify.GatewayStop: {stop}, "Retry-After": {"5"}}
		if f := classify.FromResponse(529, h, nil, start); !f.Final || f.GivenUp != givenUp || f.Kind != fault.Overloaded {
			t.Errorf("stop %s: final %v, given up %v, kind %v; want true, %v, overloaded", stop, f.Final, f.GivenUp, f.Kind, givenUp)
		}
	}
	if f := classify.FromResponse(503, http.Header{"Retry-After": {"1"}}, nil, start); f.Final || f.GivenUp {
		t.Errorf("a gateway that shuts down: final %v, given up %v; want neither", f.Final, f.GivenUp)
	}
}

func TestFromResponse_RequestID(t *testing.T) {
	body := []byte(anthropicBody("overloaded_error", "Overloaded"))
	if f := classify.FromResponse(529, nil, body, start); f.RequestID != "req_011" {
		t.Errorf("request id from the body: %q, want req_011", f.RequestID)
	}
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if f := classify.FromResponse(529, http.Header{name: {"req_h"}}, body, start); f.RequestID != "req_h" {
			t.Errorf("request id from header %s: %q, want req_h", name, f.RequestID)
		}
	}
}

// pieces make a text that takes more than linear time if the
// classifier looks back or ahead too far.
var pieces = []string{
	"{", `{"`, `{"error":`, "[", `{"message":"{`, `\`, `{"error":"`, `{"a":'`, "<", "<style", "limit ", "context ", "daily ", "wait ",
	"retry after 1", "exceeds ", "429 ", "sk-", "bearer ", "Aa", "stream error: stream ID ", "limit 1, requested ",
	"quota ", "exceeded ", "tokens ", "again in 1:", "credit no ", "tpm current: ", "额", "id:\nevent:", `{"quotaId":"`, `{"aException":{`, "_", "1 ",
	"://", "://a:", "@", "://a:b@", "exceed ", "no ", "close ", "retry in 1 ", "again 1 s ", "prompt 1000 ", "1,", "token > ", "code: 429 ", "status 500 ", "HTTP/1.1 5", "key:", "b",
}

func TestError_VerbatimIsWhatTheProviderSent(t *testing.T) {
	slow := `{"error":{"type":"rate_limit_error","message":"Slow down"}}`
	for _, tt := range []struct {
		name string
		f    *fault.Error
		want string
	}{
		{"JSON", classify.FromResponse(429, nil, []byte(slow), start), "HTTP 429: " + slow},
		{"an event", classify.FromEvent([]byte("event: error\ndata: "+slow), start), "error in a 200: " + slow},
		{"a text", classify.FromResponse(503, nil, []byte("busy\n"), start), "HTTP 503: busy"},
		{"a page", classify.FromResponse(502, nil, []byte("<html><body>Bad gateway</body></html>"), start), "HTTP 502: Bad gateway"},
		{"nothing", classify.FromResponse(502, nil, nil, start), "HTTP 502: server error"},
		{"a key", classify.FromResponse(401, nil, []byte(`{"error":"no","key":"sk-proj-0123456789abcdefghij"}`), start), `HTTP 401: {"error":"no","key":"***"}`},
		{"an error", classify.Of(errors.New("connection reset by peer"), start), "connection reset by peer"},
	} {
		if got := tt.f.Verbatim(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	long := classify.FromResponse(500, nil, []byte(`{"error":{"message":"no"},"trace":"`+strings.Repeat("word ", 2000)+`"}`), start)
	if n := len(long.Verbatim()); n < 2000 || n > 2<<10 {
		t.Errorf("a long body has %d bytes, want at most 2 KiB", n)
	}
}

func TestFromResponse_HugeBodyHasBoundedMessage(t *testing.T) {
	for _, piece := range pieces {
		f := classify.FromResponse(500, nil, []byte(strings.Repeat(piece, 1<<20/len(piece))), start)
		if len(f.Message) > 2<<10 {
			t.Errorf("body of repeated %q: message of %d bytes, want at most 2048", piece, len(f.Message))
		}
	}
}
