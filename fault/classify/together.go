package classify

import "github.com/ridethrough/ridethrough/fault"

// together is Together's API. Sources: docs.together.ai/docs/error-codes and
// /docs/serverless/rate-limits: below the dynamic limit a refusal is a 503, above
// it a 429.
var together = table{
	vendor: "together",
	family: []row{
		{name: "credit_limit", kind: fault.Quota, why: "the account is spent, unless the sentence states the free tier's rate"},
		{name: "dynamic_request_limited", kind: fault.RateLimited, why: "the traffic has grown too fast"},
		{name: "dynamic_token_limited", kind: fault.RateLimited, why: "the traffic has grown too fast"},
		{name: "model_rate_limit", kind: fault.RateLimited, why: "the limit of one model"},
		{name: "request_limited", kind: fault.RateLimited, why: "the limit of requests"},
		{name: "token_limited", kind: fault.RateLimited, why: "the limit of tokens"},
	},
	says: []row{
		{says: "credit limit exceeded", kind: fault.Quota, why: "the account is spent"},
		{says: "input token count * must be less than", kind: fault.TooLong, why: "403, but the context window"},
		{says: "inputs tokens + max new tokens must be", kind: fault.TooLong, why: "the context window"},
		{says: "queries per minute", kind: fault.RateLimited, why: "the limit of one model"},
	},
}
