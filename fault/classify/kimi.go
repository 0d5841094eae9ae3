package classify

import "github.com/ridethrough/ridethrough/fault"

// kimi is Moonshot's API and Kimi Code. Sources: platform.kimi.ai/docs/api/errors
// and Kimi Code's error reference.
var kimi = table{
	vendor: "kimi",
	names: []row{
		{name: "exceeded_current_quota_error", kind: fault.Quota, why: "429, but the account is spent or not active"},
		{name: "engine_overloaded_error", kind: fault.Overloaded, why: "429, but the engine's load, whoever asks"},
		{name: "invalid_authentication_error", kind: fault.Auth, why: "401"},
		{name: "incorrect_api_key_error", kind: fault.Auth, why: "401"},
		{name: "access_terminated_error", kind: fault.Refused, why: "403: a human has to be asked"},
	},
	family: []row{
		{name: "rate_limit_reached_error", kind: fault.RateLimited, why: "a minute's limit, unless the sentence says a day's"},
		{name: "permission_denied_error", kind: fault.Refused, why: "403"},
	},
	vague: []row{
		{name: "resource_not_found_error", kind: fault.Invalid, why: "there is no such model, or no access to it"},
		{name: "unexpected_output", kind: fault.Unavailable, why: "500"},
	},
	says: []row{
		{says: "request reached * TPD rate limit", kind: fault.Quota, window: true, why: "tokens of a day"},
		{says: "usage limit for this billing cycle", kind: fault.Quota, window: true, why: "403, but the window of the plan"},
		{says: "usage limit for this period", kind: fault.Quota, window: true, why: "the window of the plan"},
		{says: "unable to verify your membership", kind: fault.Quota, why: "402: no plan, or one that has ended"},
		{says: "exceeded model token limit", kind: fault.TooLong, why: "the context window"},
		{says: "token length too long", kind: fault.TooLong, why: "the context window"},
		{says: "currently only available for coding agents", kind: fault.Refused, why: "a plan's key outside its programs"},
		{says: "access terminated", kind: fault.Refused, why: "403: a human has to be asked"},
		{says: "considered high risk", kind: fault.Refused, why: "the content filter"},
		{says: "receiving too many requests", kind: fault.Overloaded, why: "429, but everybody's load"},
		{says: "max organization concurrency", kind: fault.RateLimited, why: "calls under way: they end"},
	},
}
