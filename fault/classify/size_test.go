package classify_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestFromResponse_RequestThatCanNeverFitIsInvalid(t *testing.T) {
	for _, text := range []string{
		"Rate limit: requested 210000 tokens, limit 200000 tokens per minute.",
		"Your request of 210,000 tokens exceeds the 200,000 tokens per minute limit of this deployment.",
		"Limit of 200000 TPM: this request needs 210000 tokens.",
		"200000 tokens per minute limit exceeded by a request with 210000 tokens",
		"You requested 210k tokens, but the maximum is 200k tokens per minute.",
		"Request too large: 210000 tokens requested, limit 200000, 143000 remaining",
		"The request asks for 210000 input tokens; your quota allows 200000 per minute. Please retry in 60 seconds.",
	} {
		if f := must(t, 429, openAIBody("tokens", "rate_limit_exceeded", text), fault.Invalid); f.Retryable() {
			t.Errorf("%q: it is tried again, want final", text)
		}
	}
}

func TestFromResponse_RequestThatFitsLaterPasses(t *testing.T) {
	for _, text := range []string{
		"Rate limit: requested 5000 tokens, limit 200000 tokens per minute, used 199000.",
		"This request needs 5000 tokens but only 1200 remaining of your 60000 tokens per minute limit",
		"You have requested 45000 tokens in the last minute; the limit is 40000 tokens per minute.",
		"Requests used 45000 tokens, limit 40000 tokens per minute, resets in 12s",
		"At most 100 requests per minute; 150 requests were received",
		"Request id 918273645: rate limit of 200000 tokens per minute reached",
		"Current usage 210000 tokens, limit 200000 tokens per minute. Please retry your request.",
		"Requested 210000 tokens/min of 200000 allowed",
		"Tokens per minute: limit 30000, used 29000, requested 2000",
	} {
		must(t, 429, openAIBody("tokens", "rate_limit_exceeded", text), fault.RateLimited)
	}
}

func TestFromResponse_RefusedKeyOrModelIsDoubtful(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   bool
	}{
		{401, anthropicBody("authentication_error", "Invalid authentication credentials"), true},
		{401, anthropicBody("authentication_error", "invalid x-api-key"), true},
		{401, anthropicBody("authentication_error", "The token has expired"), false},
		{400, `{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT"}}`, false},
		{401, `{"message":"The security token included in the request is expired","__type":"ExpiredTokenException"}`, false},
		{404, openAIBody("NotFoundError", "404", "The model `m` does not exist."), true},
		{404, openAIBody("invalid_request_error", "model_not_found", "no such thing"), true},
		{404, anthropicBody("not_found_error", "model: claude-9"), true},
		{404, `{"error":"model \"nomic-embed-text\" not found, try pulling it first"}`, true},
		{404, openAIBody("invalid_request_error", "previous_response_not_found", "Previous response with id 'resp_1' not found."), false},
		{404, anthropicBody("not_found_error", "Not found"), false},
		{400, openAIBody("invalid_request_error", "", "The model has no such parameter"), false},
		{529, anthropicBody("overloaded_error", "Overloaded"), false},
	}
	for _, tt := range tests {
		if f := classify.FromResponse(tt.status, nil, []byte(tt.body), start); f.Doubtful != tt.want {
			t.Errorf("FromResponse(%d, %s): doubtful %v by %s, want %v", tt.status, tt.body, f.Doubtful, f.Rule, tt.want)
		}
	}
}
