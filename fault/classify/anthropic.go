package classify

import "github.com/ridethrough/ridethrough/fault"

// anthropic is the Messages API. Source: docs.claude.com/en/api/errors and
// /en/api/rate-limits; the sentences are those that the API sends.
var anthropic = table{
	vendor: "anthropic",
	header: []row{
		{name: "Anthropic-Ratelimit-Unified-Status", says: "rejected", kind: fault.Quota, window: true, why: "the subscription's window is used up"},
	},
	names: []row{
		{name: "rate_limit_error", says: "required for long context", kind: fault.Refused, why: "429, but the plan does not include the long context"},
		{name: "invalid_request_error", says: "credit balance is too low", kind: fault.Quota, why: "400, but the account is spent"},
		{name: "invalid_request_error", says: "usage limits", kind: fault.Quota, window: true, why: "the spend limit that the organisation has set"},
		{name: "overloaded_error", kind: fault.Overloaded, why: "the API is short of capacity, also inside a 200"},
		{name: "timeout_error", kind: fault.UpstreamTimeout, why: "the API's own limit on a request"},
		{name: "authentication_error", kind: fault.Auth},
		{name: "billing_error", kind: fault.Quota, why: "billing or payment"},
		{name: "request_too_large", kind: fault.TooLong, why: "above 32 MB"},
		{name: "not_found_error", kind: fault.Invalid, why: "no such model or resource"},
		{name: "enforced_spend_limit_reached", kind: fault.Quota, window: true, why: "429 without a time: the month's cap of the tier"},
		{name: "finish_reason refusal", kind: fault.Refused, why: "a stop reason: the model declined, or a filter did"},
		{name: "finish_reason model_context_window_exceeded", kind: fault.TooLong, why: "a stop reason"},
		{name: "conflict_error", kind: fault.Unknown, why: "409: the state of a resource, which may change"},
	},
	family: []row{
		{name: "rate_limit_error", kind: fault.RateLimited, why: "a minute's limit, or the ramp of new traffic"},
		{name: "permission_error", kind: fault.Refused},
	},
	vague: []row{
		{name: "api_error", kind: fault.Unavailable, why: "an internal error of the API"},
		{name: "invalid_request_error", kind: fault.Invalid},
	},
	says: []row{
		{says: "exceed context limit", kind: fault.TooLong, why: "says try again, but only with a smaller max_tokens"},
		{says: "exceeds model context window", kind: fault.TooLong},
		{says: "extra usage is required", kind: fault.Refused},
		{says: "out of extra usage", kind: fault.Quota, window: true, why: "the subscription and what was bought beside it"},
		{says: "hour limit reached", kind: fault.Quota, window: true, why: "the subscription's window"},
		{says: "OAuth authentication is currently not allowed", kind: fault.Refused},
		{says: "only authorized for use with Claude Code", kind: fault.Refused, why: "a subscription's credential outside its program"},
	},
}
