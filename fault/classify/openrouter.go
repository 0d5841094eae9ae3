package classify

import "github.com/ridethrough/ridethrough/fault"

// openrouter relays to other providers: status and error come from it, the cause
// from them, quoted in metadata.raw. Sources: openrouter.ai/docs/api/errors, the
// values of ApiErrorType in its SDKs, and its limit_source.
var openrouter = table{
	vendor: "openrouter",
	names: []row{
		{name: "openrouter_credits", kind: fault.Quota, reason: "the account is spent"},
		{name: "openrouter_in_flight_budget", kind: fault.RateLimited, reason: "402, but calls in progress hold the budget, until they end"},
		{name: "upstream_provider_shared_pool", kind: fault.RateLimited, reason: "the provider limits OpenRouter as a whole"},
		{name: "provider_overloaded", kind: fault.Overloaded, reason: "the provider's capacity"},
		{name: "token_limit_exceeded", status: 402, kind: fault.Quota, reason: "402: credits buy no more tokens than these"},
		{name: "token_limit_exceeded", kind: fault.TooLong, reason: "more tokens than it grants"},
		{name: "string_too_long", kind: fault.TooLong, reason: "one field is too long"},
		{name: "payload_too_large", kind: fault.TooLong, reason: "bytes"},
		{name: "image_too_large", kind: fault.Invalid, reason: "an image above the provider's limit"},
		{name: "invalid_image", kind: fault.Invalid, reason: "the image cannot be read"},
		{name: "unsupported_image_format", kind: fault.Invalid, reason: "the image cannot be read"},
		{name: "image_not_found", kind: fault.Invalid, reason: "its address leads nowhere"},
		{name: "refusal", kind: fault.Refused, reason: "the model declined"},
		{name: "timeout", kind: fault.UpstreamTimeout, reason: "the provider took too long"},
	},
	weakNames: []row{
		{name: "provider_unavailable", kind: fault.Unavailable, reason: "the provider is down, or its answer is none"},
		{name: "server", kind: fault.Unavailable, reason: "an error of OpenRouter's"},
		{name: "unprocessable", kind: fault.Invalid, reason: "422"},
		{name: "precondition_failed", kind: fault.Invalid, reason: "412"},
		{name: "finish_reason error", kind: fault.Unavailable, reason: "the provider broke off in the middle of the stream"},
	},
	texts: []row{
		{text: "can only afford", kind: fault.Quota, reason: "credits buy no more tokens than these"},
		{text: "prompt tokens limit exceeded", kind: fault.Quota, reason: "credits buy no more tokens than these"},
		{text: "key limit exceeded", kind: fault.Quota, window: true, reason: "the budget of the key, of a day or for ever"},
		{text: "budget limit exceeded", kind: fault.Quota, window: true, reason: "the budget of the organization"},
		{text: "free models per day", kind: fault.Quota, window: true, reason: "the free window of a day"},
		{text: "free models per min", kind: fault.RateLimited, reason: "the free window of a minute"},
		{text: "rate limited upstream", kind: fault.RateLimited, reason: "the provider limits OpenRouter as a whole"},
		{text: "no endpoints found", kind: fault.Invalid, reason: "no provider supports the request"},
		{text: "no allowed providers", kind: fault.Invalid, reason: "our own routing excludes them all"},
		{text: "user not found", kind: fault.Auth, reason: "401: the key's account is gone"},
		{text: "finish reason: error", kind: fault.Unavailable, reason: "the provider broke off in the middle of the stream"},
	},
}
