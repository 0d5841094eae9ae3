package fault

// openrouter relays to other providers: status and error come from it, the cause
// from them, quoted in metadata.raw. Sources: openrouter.ai/docs/api/errors, the
// values of ApiErrorType in its SDKs, and its limit_source.
var openrouter = table{
	vendor: "openrouter",
	names: []row{
		{name: "openrouter_credits", kind: Quota, why: "the account is spent"},
		{name: "openrouter_in_flight_budget", kind: RateLimited, why: "402, but only calls under way hold the budget, until they end"},
		{name: "upstream_provider_shared_pool", kind: RateLimited, why: "the provider limits OpenRouter as a whole"},
		{name: "provider_overloaded", kind: Overloaded, why: "the provider's capacity"},
		{name: "token_limit_exceeded", status: 402, kind: Quota, why: "402: credits buy no more tokens than these"},
		{name: "token_limit_exceeded", kind: TooLong, why: "more tokens than it grants"},
		{name: "string_too_long", kind: TooLong, why: "one field is too long"},
		{name: "payload_too_large", kind: TooLong, why: "bytes"},
		{name: "image_too_large", kind: Invalid, why: "an image above the provider's limit"},
		{name: "invalid_image", kind: Invalid, why: "the image cannot be read"},
		{name: "unsupported_image_format", kind: Invalid, why: "the image cannot be read"},
		{name: "image_not_found", kind: Invalid, why: "its address leads nowhere"},
		{name: "refusal", kind: Refused, why: "the model declined"},
		{name: "timeout", kind: UpstreamTimeout, why: "the provider took too long"},
	},
	vague: []row{
		{name: "provider_unavailable", kind: Unavailable, why: "the provider is down, or its answer is none"},
		{name: "server", kind: Unavailable, why: "an error of OpenRouter's"},
		{name: "unprocessable", kind: Invalid, why: "422"},
		{name: "precondition_failed", kind: Invalid, why: "412"},
		{name: "finish_reason error", kind: Unavailable, why: "the provider broke off in the middle of the stream"},
	},
	says: []row{
		{says: "can only afford", kind: Quota, why: "credits buy no more tokens than these"},
		{says: "prompt tokens limit exceeded", kind: Quota, why: "credits buy no more tokens than these"},
		{says: "key limit exceeded", kind: Quota, window: true, why: "the budget of the key, of a day or for ever"},
		{says: "budget limit exceeded", kind: Quota, window: true, why: "the budget of the organisation"},
		{says: "free models per day", kind: Quota, window: true, why: "the free window of a day"},
		{says: "free models per min", kind: RateLimited, why: "the free window of a minute"},
		{says: "rate limited upstream", kind: RateLimited, why: "the provider limits OpenRouter as a whole"},
		{says: "no endpoints found", kind: Invalid, why: "no provider can do what the request asks for"},
		{says: "no allowed providers", kind: Invalid, why: "our own routing excludes them all"},
		{says: "user not found", kind: Auth, why: "401: the key's account is gone"},
		{says: "finish reason: error", kind: Unavailable, why: "the provider broke off in the middle of the stream"},
	},
}
