package classify

import "github.com/ridethrough/ridethrough/fault"

// together is Together's API. Sources: docs.together.ai/docs/error-codes and /docs/serverless/rate-limits:
// below the dynamic limit a refusal is a 503, above it a 429.
var together = table{
	vendor: "together",
	broadNames: []row{
		{name: "credit_limit", kind: fault.Quota, reason: "the account is spent, unless the sentence states the free tier's rate"},
		{name: "dynamic_request_limited", kind: fault.RateLimited, reason: "the traffic has grown too fast"},
		{name: "dynamic_token_limited", kind: fault.RateLimited, reason: "the traffic has grown too fast"},
		{name: "model_rate_limit", kind: fault.RateLimited, reason: "the limit of one model"},
		{name: "request_limited", kind: fault.RateLimited, reason: "the limit of requests"},
		{name: "token_limited", kind: fault.RateLimited, reason: "the limit of tokens"},
	},
	texts: []row{
		{text: "credit limit exceeded", kind: fault.Quota, reason: "the account is spent"},
		{text: "input token count * must be less than", kind: fault.TooLong, reason: "403, but the context window"},
		{text: "inputs tokens + max new tokens must be", kind: fault.TooLong, reason: "the context window"},
		{text: "queries per minute", kind: fault.RateLimited, reason: "the limit of one model"},
	},
}
