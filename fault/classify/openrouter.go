package classify

import "github.com/ridethrough/ridethrough/fault"

// openrouter relays to other providers: status and error come from it, the cause
// from them, quoted in metadata.raw. Sources: openrouter.ai/docs/api/errors, the
// values of ApiErrorType in its SDKs, and its limit_source.
var openrouter = table{
	vendor: "openrouter",
	names: []row{
		{name: "openrouter_credits", kind: fault.Quota, why: "the account is spent"},
		{name: "openrouter_in_flight_budget", kind: fault.RateLimited, why: "402, but only calls under way hold the budget, until they end"},
		{name: "upstream_provider_shared_pool", kind: fault.RateLimited, why: "the provider limits OpenRouter as a whole"},
		{name: "provider_overloaded", kind: fault.Overloaded, why: "the provider's capacity"},
		{name: "token_limit_exceeded", status: 402, kind: fault.Quota, why: "402: credits buy no more tokens than these"},
		{name: "token_limit_exceeded", kind: fault.TooLong, why: "more tokens than it grants"},
		{name: "string_too_long", kind: fault.TooLong, why: "one field is too long"},
		{name: "payload_too_large", kind: fault.TooLong, why: "bytes"},
		{name: "image_too_large", kind: fault.Invalid, why: "an image above the provider's limit"},
		{name: "invalid_image", kind: fault.Invalid, why: "the image cannot be read"},
		{name: "unsupported_image_format", kind: fault.Invalid, why: "the image cannot be read"},
		{name: "image_not_found", kind: fault.Invalid, why: "its address leads nowhere"},
		{name: "refusal", kind: fault.Refused, why: "the model declined"},
		{name: "timeout", kind: fault.UpstreamTimeout, why: "the provider took too long"},
	},
	vague: []row{
		{name: "provider_unavailable", kind: fault.Unavailable, why: "the provider is down, or its answer is none"},
		{name: "server", kind: fault.Unavailable, why: "an error of OpenRouter's"},
		{name: "unprocessable", kind: fault.Invalid, why: "422"},
		{name: "precondition_failed", kind: fault.Invalid, why: "412"},
		{name: "finish_reason error", kind: fault.Unavailable, why: "the provider broke off in the middle of the stream"},
	},
	says: []row{
		{says: "can only afford", kind: fault.Quota, why: "credits buy no more tokens than these"},
		{says: "prompt tokens limit exceeded", kind: fault.Quota, why: "credits buy no more tokens than these"},
		{says: "key limit exceeded", kind: fault.Quota, window: true, why: "the budget of the key, of a day or for ever"},
		{says: "budget limit exceeded", kind: fault.Quota, window: true, why: "the budget of the organisation"},
		{says: "free models per day", kind: fault.Quota, window: true, why: "the free window of a day"},
		{says: "free models per min", kind: fault.RateLimited, why: "the free window of a minute"},
		{says: "rate limited upstream", kind: fault.RateLimited, why: "the provider limits OpenRouter as a whole"},
		{says: "no endpoints found", kind: fault.Invalid, why: "no provider can do what the request asks for"},
		{says: "no allowed providers", kind: fault.Invalid, why: "our own routing excludes them all"},
		{says: "user not found", kind: fault.Auth, why: "401: the key's account is gone"},
		{says: "finish reason: error", kind: fault.Unavailable, why: "the provider broke off in the middle of the stream"},
	},
}
