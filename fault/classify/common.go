package classify

import "github.com/ridethrough/ridethrough/fault"

// common is what everybody says. These sentences decide where no name, no
// status of one meaning and no vendor's own table has. "Try again" is not among
// them: it proves nothing.
var common = table{
	vendor: "common",
	says: []row{
		// One request that is larger than all that is granted in a minute: waiting never helps.
		{says: "request too large * per min", kind: fault.Invalid, why: "larger than the whole budget of a minute"},

		// A parameter that asks for more of an answer than the model gives.
		{says: "max tokens must be", kind: fault.Invalid, why: "a parameter that asks for more of an answer than the model gives"},
		{says: "maximum value for max tokens", kind: fault.Invalid, why: "a parameter that asks for more of an answer than the model gives"},
		{says: "maximum tokens you requested", kind: fault.Invalid, why: "a parameter that asks for more of an answer than the model gives"},
		{says: "max tokens is too large", kind: fault.Invalid, why: "a parameter that asks for more of an answer than the model gives"},

		// A rate that reads like a size.
		{says: "tokens allowed within a given time", kind: fault.RateLimited, why: "a rate that reads like a size"},

		// Tokens or bytes over the limit.
		{says: "prompt is too long", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "prompt too long", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "input is too long", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "request is too long", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "context length", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "context limit", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "context window", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "context size", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "context overflow", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "exceeds * maximum number of tokens", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "exceeds the limit of * tokens", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "maximum * tokens allowed", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "reduce the length of the", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "string too long", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "request body too large", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "request too large", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "payload too large", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "content too large", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "request entity too large", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "request size exceeds", kind: fault.TooLong, why: "tokens or bytes over the limit"},
		{says: "request exceeds the maximum size", kind: fault.TooLong, why: "tokens or bytes over the limit"},

		// A window of at most minutes, whatever is advertised beside it.
		{says: "per second", kind: fault.RateLimited, why: "a window of at most minutes, whatever is advertised beside it"},
		{says: "per min", kind: fault.RateLimited, why: "a window of at most minutes, whatever is advertised beside it"},
		{says: "per minute", kind: fault.RateLimited, why: "a window of at most minutes, whatever is advertised beside it"},

		// The account is spent.
		{says: "credit balance", kind: fault.Quota, why: "the account is spent"},
		{says: "insufficient credit", kind: fault.Quota, why: "the account is spent"},
		{says: "insufficient credits", kind: fault.Quota, why: "the account is spent"},
		{says: "insufficient balance", kind: fault.Quota, why: "the account is spent"},
		{says: "insufficient funds", kind: fault.Quota, why: "the account is spent"},
		{says: "insufficient quota", kind: fault.Quota, why: "the account is spent"},
		{says: "not enough credits", kind: fault.Quota, why: "the account is spent"},
		{says: "requires more credits", kind: fault.Quota, why: "the account is spent"},
		{says: "out of credits", kind: fault.Quota, why: "the account is spent"},
		{says: "no credit left", kind: fault.Quota, why: "the account is spent"},
		{says: "exceeded your current quota", kind: fault.Quota, window: true, why: "the account is spent"},
		{says: "billing hard limit", kind: fault.Quota, why: "the account is spent"},
		{says: "spending limit", kind: fault.Quota, why: "the account is spent"},
		{says: "spend limit", kind: fault.Quota, why: "the account is spent"},
		{says: "spending cap", kind: fault.Quota, why: "the account is spent"},
		{says: "payment required", kind: fault.Quota, why: "the account is spent"},
		{says: "payment is past due", kind: fault.Quota, why: "the account is spent"},
		{says: "payment method is required", kind: fault.Quota, why: "the account is spent"},
		{says: "past due", kind: fault.Quota, why: "the account is spent"},

		// A long window is used up.
		{says: "usage limit", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "used all your * usage", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "monthly limit", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "weekly limit", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "daily limit", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "daily * limit", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "weekly * limit", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "monthly * limit", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "monthly quota", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "weekly quota", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "daily quota", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "per day", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "per week", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "per month", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "5 hour", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "quota exhausted", kind: fault.Quota, window: true, why: "a long window is used up"},
		{says: "quota exceeded", kind: fault.Quota, window: true, why: "a long window is used up"},

		// A 429 that names a long window; one that states a short wait is a throttle all the same.
		{says: "daily", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "weekly", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "monthly", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "today", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "tomorrow", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "midnight", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "this week", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "this month", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "for the day", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "for the week", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "for the month", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "billing cycle", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "billing period", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "allotment", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "24 hour", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{says: "24h", status: 429, kind: fault.Quota, window: true, why: "a 429 that names a long window; one that states a short wait is a throttle all the same"},

		// Plan, policy, geography.
		{says: "content policy", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "content filter", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "content management policy", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "usage policy", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "usage policies", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "safety system", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "location is not supported", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "country, region, or territory not supported", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "not available in your country", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "not available in your region", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "unsupported country", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "organization has been disabled", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "account has been disabled", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "account has been deactivated", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "not allowed for this organization", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "access is denied", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "access denied", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "permission denied", kind: fault.Refused, why: "plan, policy, geography"},
		{says: "not authorized to", kind: fault.Refused, why: "plan, policy, geography"},

		// Credentials.
		{says: "invalid api key", kind: fault.Auth, why: "credentials"},
		{says: "incorrect api key", kind: fault.Auth, why: "credentials"},
		{says: "invalid x-api-key", kind: fault.Auth, why: "credentials"},
		{says: "missing api key", kind: fault.Auth, why: "credentials"},
		{says: "api key not valid", kind: fault.Auth, why: "credentials"},
		{says: "api key not found", kind: fault.Auth, why: "credentials"},
		{says: "api key expired", kind: fault.Auth, why: "credentials"},
		{says: "api key is not set", kind: fault.Auth, why: "credentials"},
		{says: "api key is required", kind: fault.Auth, why: "credentials"},
		{says: "no auth credentials", kind: fault.Auth, why: "credentials"},
		{says: "invalid authentication", kind: fault.Auth, why: "credentials"},
		{says: "invalid bearer token", kind: fault.Auth, why: "credentials"},
		{says: "authentication required", kind: fault.Auth, why: "credentials"},

		{says: "error loading model", kind: fault.Invalid, why: "a local server cannot load it: memory, or a broken file"},

		// Capacity.
		{says: "overloaded", kind: fault.Overloaded, why: "capacity"},
		{says: "at capacity", kind: fault.Overloaded, why: "capacity"},
		{says: "over capacity", kind: fault.Overloaded, why: "capacity"},
		{says: "no capacity", kind: fault.Overloaded, why: "capacity"},
		{says: "capacity * exceeded", kind: fault.Overloaded, why: "capacity"},
		{says: "system capacity", kind: fault.Overloaded, why: "capacity"},
		{says: "server is busy", kind: fault.Overloaded, why: "capacity"},
		{says: "too busy", kind: fault.Overloaded, why: "capacity"},
		{says: "model busy", kind: fault.Overloaded, why: "capacity"},
		{says: "currently busy", kind: fault.Overloaded, why: "capacity"},
		{says: "high traffic", kind: fault.Overloaded, why: "capacity"},
		{says: "high demand", kind: fault.Overloaded, why: "capacity"},
		{says: "high load", kind: fault.Overloaded, why: "capacity"},
		{says: "queue is full", kind: fault.Overloaded, why: "capacity"},
		{says: "queue full", kind: fault.Overloaded, why: "capacity"},
		{says: "loading model", kind: fault.Overloaded, why: "capacity"},
		{says: "is currently loading", kind: fault.Overloaded, why: "capacity"},
		{says: "model is loading", kind: fault.Overloaded, why: "capacity"},
		{says: "still loading", kind: fault.Overloaded, why: "capacity"},
		{says: "slow down", status: 429, kind: fault.RateLimited, why: "capacity"},
		{says: "slow down", kind: fault.Overloaded, why: "capacity"},
		{says: "temporarily unavailable", kind: fault.Overloaded, why: "capacity"},

		// Throttles.
		{says: "rate limit", kind: fault.RateLimited, why: "throttles"},
		{says: "rate limited", kind: fault.RateLimited, why: "throttles"},
		{says: "rate limiting", kind: fault.RateLimited, why: "throttles"},
		{says: "too many requests", kind: fault.RateLimited, why: "throttles"},
		{says: "too many concurrent", kind: fault.RateLimited, why: "throttles"},
		{says: "concurrency limit", kind: fault.RateLimited, why: "throttles"},
		{says: "request limit reached", kind: fault.RateLimited, why: "throttles"},
		{says: "being throttled", kind: fault.RateLimited, why: "throttles"},
		{says: "throttled", kind: fault.RateLimited, why: "throttles"},

		// Our request.
		{says: "model not found", kind: fault.Invalid, why: "our request"},
		{says: "model does not exist", kind: fault.Invalid, why: "our request"},
		{says: "is not a valid model", kind: fault.Invalid, why: "our request"},
		{says: "no endpoints found", kind: fault.Invalid, why: "our request"},
		{says: "no allowed providers", kind: fault.Invalid, why: "our request"},
		{says: "more system memory", kind: fault.Invalid, why: "the model does not fit this machine"},
		{says: "unable to allocate", kind: fault.Invalid, why: "the model does not fit this machine"},

		// Faults of the server.
		{says: "request timed out", kind: fault.UpstreamTimeout, why: "faults of the server"},
	},
}
