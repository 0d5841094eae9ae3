package classify_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestFromResponse_NumberCountsInItsVendorsShape(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   fault.Kind
		rule   string
	}{
		{404, `{"object":"error","message":"no such thing","type":"resource_missing","param":null,"code":"3040"}`, fault.Invalid, "status/4xx"},
		{404, `{"error":{"message":"no such thing","code":3040}}`, fault.Invalid, "status/4xx"},
		{429, `{"errors":[{"message":"AiError","code":3040}],"success":false,"result":{},"messages":[]}`, fault.Overloaded, "workers-ai/3040"},
		{429, `{"object":"error","message":"?","type":"x_tier","param":null,"code":"3505"}`, fault.Overloaded, "mistral/3505"},
		{400, `{"errors":[{"message":"?","code":3505}],"success":false}`, fault.Invalid, "status/4xx"},
		{429, `{"error":{"code":"1113","message":"?"}}`, fault.Quota, "zhipu/1113"},
		{429, `{"error":{"code":"1113","type":"too_fast","message":"?"}}`, fault.RateLimited, "status/429"},
		{500, `{"error":{"message":"job (1008) of the scheduler failed"}}`, fault.Unavailable, "status/5xx"},
		{500, `{"type":"error","error":{"type":"api_error","message":"insufficient (1008)"}}`, fault.Quota, "minimax/1008)"},
		{500, `{"error":{"message":"Error code: 1020 while reading the store"}}`, fault.Unavailable, "status/5xx"},
		{403, `error code: 1020`, fault.Refused, "cloudflare/error code: 1020"},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want || f.Rule != tt.rule {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v by %s", tt.status, tt.body, f.Kind, f.Rule, tt.want, tt.rule)
		}
	}
}

func TestFromResponse_WordAloneDoesNotOverruleRefusal(t *testing.T) {
	tests := []struct {
		status int
		header http.Header
		body   string
		want   fault.Kind
	}{
		{401, nil, google("UNAVAILABLE", "The service is currently unavailable.", ""), fault.Auth},
		{403, nil, google("UNAVAILABLE", "The service is currently unavailable.", ""), fault.Refused},
		{401, nil, "The service is temporarily unavailable", fault.Auth},
		{403, nil, `{"error":"rate limit exceeded"}`, fault.Refused},
		{403, headers("retry-after", "30"), `{"error":"rate limit exceeded"}`, fault.RateLimited}, // two proofs
		{403, nil, `{"error":{"errors":[{"reason":"userRateLimitExceeded"}],"code":403,"message":"User Rate Limit Exceeded"}}`, fault.RateLimited},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, tt.header, []byte(tt.body), start); f.Kind != tt.want {
			t.Errorf("FromResponse(%d, %v, %s): kind %v by %s, want %v", tt.status, tt.header, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromResponse_WeakProseKeepsServerFaultTransient(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{503, "The credit balance service is unavailable", fault.Overloaded},
		{500, "could not read the monthly quota from the database", fault.Unavailable},
		{502, "content filter: connection refused", fault.Unavailable},
		{500, "the billing backend failed", fault.Unavailable},
		{500, "You exceeded your current quota, please check your plan and billing details.", fault.Quota}, // the vendor's sentence
		{502, "relay: access denied for this role", fault.Refused},
		{500, "context length exceeded", fault.TooLong}, // local servers answer so
		{429, "Too fast. Add credits to your account for higher limits.", fault.RateLimited},
		{429, "Slow down, or top up for a higher tier", fault.RateLimited},
		{429, "Your monthly budget is exhausted", fault.Quota},
		{402, "Please add credits", fault.Quota},
		{500, "the request queue exceeds its maximum", fault.Unavailable},
		{502, "the upstream says: bad request", fault.Unavailable},
		{502, "the upstream says: 400 Bad Request", fault.Invalid}, // the status that the 502 wraps
		{502, "invalid character '<' looking for beginning of value", fault.Unavailable},
		{500, "worker ran out of memory", fault.Unavailable},
		{503, "the guardrail service is being restarted", fault.Overloaded},
		{503, "Das Guthaben ist leer oder der Dienst nicht erreichbar", fault.Unavailable},
	}
	for _, tt := range tests {
		f := classify.FromResponse(tt.status, nil, []byte(tt.body), start)
		if f.Kind != tt.want {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", tt.status, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromResponse_AccountAloneOverrulesServerFault(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{500, `{"error":"Your wallet is empty, please top up your wallet"}`, fault.Quota},
		{503, `{"error":true,"message":"Organization org_1 has insufficient credits"}`, fault.Quota},
		{502, "Your monthly budget is exhausted", fault.Quota},
		{503, "Model 'm' is not available on your plan.", fault.Refused},
		{500, "This key has no access to the model m", fault.Refused},
		{503, "this group only allows Claude Code clients", fault.Refused},
		{429, "Your plan does not include this model. Upgrade to use it.", fault.Refused},

		{503, "retry budget exceeded", fault.Overloaded},
		{503, "exceeded the latency budget of 30 s", fault.Overloaded},
		{500, "[Errno 122] Disk quota exceeded", fault.Unavailable},
		{500, "Your balance is empty or the billing service is down", fault.Unavailable},
		{503, "The model is not available on any tier right now", fault.Overloaded},
		{503, "blocked by the policy of the circuit breaker", fault.Overloaded},
		{500, "missing key: choices", fault.Unavailable},
		{500, "invalid cache key", fault.Unavailable},
		{429, "Slow down. Upgrade your plan for more.", fault.RateLimited},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", tt.status, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromResponse_ConflictsOfAMomentPass(t *testing.T) {
	tests := []struct {
		status int
		says   string
		want   fault.Kind
	}{
		{409, "Thread is already running a task", fault.RateLimited},
		{409, "The model is busy until active requests finish", fault.RateLimited},
		{409, "Another operation is being performed on the account", fault.RateLimited},
		{400, "Thread t already has an active run r", fault.RateLimited},
		{422, "Thread is already running a task", fault.RateLimited},
		{409, "The thread t already exists", fault.Invalid},
		{409, "duplicate key", fault.Invalid},
		{409, "conflict", fault.Unknown},
		{400, "tools: the name already exists", fault.Invalid},
		{400, "messages: a tool call is in progress, its result is missing", fault.Invalid},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.says), start); f.Kind != tt.want {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", tt.status, tt.says, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestFromResponse_StatusBeforeQuotedCause(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{500, `{"error":{"message":"Error code: 403 - {'error': {'message': 'no'}}"}}`, fault.Refused},
		{502, `refresh failed: status 401, body: {"error":{"code":"x"}}`, fault.Auth},
		{500, `{"error":{"message":"Error code: 429 - {'error': {'message': 'no'}}"}}`, fault.RateLimited},
		{500, `{"error":{"message":"worker 401 died: {'message': 'no'}"}}`, fault.Unavailable},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", tt.status, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestOf_HeadCutShortIsUnavailable(t *testing.T) {
	for _, text := range []string{
		`net/http: HTTP/1.x transport connection broken: malformed MIME header: missing colon: "Content-Ty"`,
		`net/http: HTTP/1.x transport connection broken: malformed HTTP response "HTTP/1."`,
		`net/http: HTTP/1.x transport connection broken: unexpected EOF`,
		`malformed HTTP response: "HTTP/1."`,
	} {
		if f := classify.Of(errors.New(text), start); f.Kind != fault.Unavailable {
			t.Errorf("Of(%s): kind %v by %s, want unavailable", text, f.Kind, f.Rule)
		}
	}
	for _, text := range []string{
		`net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x15\x03\x01\x00\x02\x02\x16"`,
		`net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x00\x00\x12\x04\x00"`,
	} {
		if f := classify.Of(errors.New(text), start); f.Kind != fault.Invalid {
			t.Errorf("Of(%s): kind %v by %s, want invalid: the wrong protocol is spoken", text, f.Kind, f.Rule)
		}
	}
}

func TestFromPartialResponse_ReasonLostIsNotFinal(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{400, `{"error":{"mess`, fault.Unavailable},
		{400, `{"error":{"type":"overloaded_error","message":"Ov`, fault.Overloaded},
		{400, `{"error":{"message":"prompt is too long","ty`, fault.TooLong},
		{401, `{"err`, fault.Auth}, // these say enough
		{403, `{"err`, fault.Refused},
		{503, `{"err`, fault.Overloaded},
	}
	for _, tt := range tests {
		if f := (classify.Classifier{}).FromPartialResponse(tt.status, nil, []byte(tt.body), start); f.Kind != tt.want {
			t.Errorf("FromPartialResponse(%d, %s): kind %v by %s, want %v", tt.status, tt.body, f.Kind, f.Rule, tt.want)
		}
	}
}
