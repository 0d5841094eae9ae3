package classify

import "github.com/ridethrough/ridethrough/fault"

// kimi is Moonshot's API and Kimi Code. Sources: platform.kimi.ai/docs/api/errors
// and Kimi Code's error reference.
var kimi = table{
	vendor: "kimi",
	names: []row{
		{name: "exceeded_current_quota_error", kind: fault.Quota, reason: "429, but the account is spent or not active"},
		{name: "engine_overloaded_error", kind: fault.Overloaded, reason: "429, but the load of the engine, not of the account"},
		{name: "invalid_authentication_error", kind: fault.Auth, reason: "401"},
		{name: "incorrect_api_key_error", kind: fault.Auth, reason: "401"},
		{name: "access_terminated_error", kind: fault.Refused, reason: "403: a human has to be asked"},
	},
	broadNames: []row{
		{name: "rate_limit_reached_error", kind: fault.RateLimited, reason: "a minute's limit, unless the text says a day's"},
		{name: "permission_denied_error", kind: fault.Refused, reason: "403"},
	},
	weakNames: []row{
		{name: "resource_not_found_error", kind: fault.Invalid, reason: "there is no such model, or no access to it"},
		{name: "unexpected_output", kind: fault.Unavailable, reason: "500"},
	},
	texts: []row{
		{text: "request reached * TPD rate limit", kind: fault.Quota, window: true, reason: "tokens of a day"},
		{text: "usage limit for this billing cycle", kind: fault.Quota, window: true, reason: "403, but the window of the plan"},
		{text: "usage limit for this period", kind: fault.Quota, window: true, reason: "the window of the plan"},
		{text: "unable to verify your membership", kind: fault.Quota, reason: "402: no plan, or one that has ended"},
		{text: "exceeded model token limit", kind: fault.TooLong, reason: "the context window"},
		{text: "token length too long", kind: fault.TooLong, reason: "the context window"},
		{text: "currently only available for coding agents", kind: fault.Refused, reason: "a plan's key outside its programs"},
		{text: "access terminated", kind: fault.Refused, reason: "403: a human has to be asked"},
		{text: "considered high risk", kind: fault.Refused, reason: "the content filter"},
		{text: "receiving too many requests", kind: fault.Overloaded, reason: "429, but everybody's load"},
		{text: "max organization concurrency", kind: fault.RateLimited, reason: "calls in progress, which end"},
	},
}
