package fault

// kimi is Moonshot's API and Kimi Code. Sources: platform.kimi.ai/docs/api/errors
// and Kimi Code's error reference.
var kimi = table{
	vendor: "kimi",
	names: []row{
		{name: "exceeded_current_quota_error", kind: Quota, why: "429, but the account is spent or not active"},
		{name: "engine_overloaded_error", kind: Overloaded, why: "429, but the engine's load, whoever asks"},
		{name: "invalid_authentication_error", kind: Auth, why: "401"},
		{name: "incorrect_api_key_error", kind: Auth, why: "401"},
		{name: "access_terminated_error", kind: Refused, why: "403: a human has to be asked"},
	},
	family: []row{
		{name: "rate_limit_reached_error", kind: RateLimited, why: "a minute's limit, unless the sentence says a day's"},
		{name: "permission_denied_error", kind: Refused, why: "403"},
	},
	vague: []row{
		{name: "resource_not_found_error", kind: Invalid, why: "there is no such model, or no access to it"},
		{name: "unexpected_output", kind: Unavailable, why: "500"},
	},
	says: []row{
		{says: "request reached * TPD rate limit", kind: Quota, window: true, why: "tokens of a day"},
		{says: "usage limit for this billing cycle", kind: Quota, window: true, why: "403, but the window of the plan"},
		{says: "usage limit for this period", kind: Quota, window: true, why: "the window of the plan"},
		{says: "unable to verify your membership", kind: Quota, why: "402: no plan, or one that has ended"},
		{says: "exceeded model token limit", kind: TooLong, why: "the context window"},
		{says: "token length too long", kind: TooLong, why: "the context window"},
		{says: "currently only available for coding agents", kind: Refused, why: "a plan's key outside its programs"},
		{says: "access terminated", kind: Refused, why: "403: a human has to be asked"},
		{says: "considered high risk", kind: Refused, why: "the content filter"},
		{says: "receiving too many requests", kind: Overloaded, why: "429, but everybody's load"},
		{says: "max organization concurrency", kind: RateLimited, why: "calls under way: they end"},
	},
}
