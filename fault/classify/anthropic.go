package classify

import "github.com/ridethrough/ridethrough/fault"

// anthropic is the Messages API. Source: docs.claude.com/en/api/errors and
// /en/api/rate-limits; the texts are those that the API sends.
var anthropic = table{
	vendor: "anthropic",
	headers: []row{
		{name: "Anthropic-Ratelimit-Unified-Status", text: "rejected", kind: fault.Quota, window: true, reason: "the subscription's window is used up"},
	},
	names: []row{
		{name: "rate_limit_error", text: "required for long context", kind: fault.Refused, reason: "429, but the plan does not include the long context"},
		{name: "invalid_request_error", text: "credit balance is too low", kind: fault.Quota, reason: "400, but the account is spent"},
		{name: "invalid_request_error", text: "usage limits", kind: fault.Quota, window: true, reason: "the spend limit that the organization has set"},
		{name: "overloaded_error", kind: fault.Overloaded, reason: "the API is short of capacity, also inside a 200"},
		{name: "timeout_error", kind: fault.UpstreamTimeout, reason: "the API's own limit on a request"},
		{name: "authentication_error", kind: fault.Auth},
		{name: "billing_error", kind: fault.Quota, reason: "billing or payment"},
		{name: "request_too_large", kind: fault.TooLong, reason: "above 32 MB"},
		{name: "not_found_error", kind: fault.Invalid, reason: "no such model or resource"},
		{name: "enforced_spend_limit_reached", kind: fault.Quota, window: true, reason: "429 without a time: the month's cap of the tier"},
		{name: "finish_reason refusal", kind: fault.Refused, reason: "a stop reason: the model declined, or a filter did"},
		{name: "finish_reason model_context_window_exceeded", kind: fault.TooLong, reason: "a stop reason"},
		{name: "conflict_error", kind: fault.Unknown, reason: "409: the state of a resource, which may change"},
	},
	broadNames: []row{
		{name: "rate_limit_error", kind: fault.RateLimited, reason: "a minute's limit, or the ramp of new traffic"},
		{name: "permission_error", kind: fault.Refused},
	},
	weakNames: []row{
		{name: "api_error", kind: fault.Unavailable, reason: "an internal error of the API"},
		{name: "invalid_request_error", kind: fault.Invalid},
	},
	texts: []row{
		{text: "exceed context limit", kind: fault.TooLong, reason: "asks to retry, but only with a smaller max_tokens"},
		{text: "exceeds model context window", kind: fault.TooLong},
		{text: "extra usage is required", kind: fault.Refused},
		{text: "out of extra usage", kind: fault.Quota, window: true, reason: "the subscription and the extra usage bought"},
		{text: "hour limit reached", kind: fault.Quota, window: true, reason: "the subscription's window"},
		{text: "OAuth authentication is currently not allowed", kind: fault.Refused},
		{text: "only authorized for use with Claude Code", kind: fault.Refused, reason: "a subscription's credential outside its program"},
	},
}
