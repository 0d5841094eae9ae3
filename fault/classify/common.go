package classify

import "github.com/ridethrough/ridethrough/fault"

// topic is how much a row proves that only names what a text is about, in percent: "credit balance" is also
// in the name of a service that is down.
const topic = 60

// commonTexts are used by many vendors. They decide where no name, no status with one meaning and no
// vendor's own table does. "Try again" is not among them: it proves nothing.
var commonTexts = table{
	vendor: "common",
	sure:   90,
	texts: []row{
		// One request that is larger than all that is granted in a minute: waiting never helps.
		{text: "request too large * per min", kind: fault.Invalid, reason: "larger than the whole budget of a minute"},

		// A parameter that asks for a longer answer than the model allows.
		{text: "max tokens must be", kind: fault.Invalid, reason: "a parameter that asks for more of an answer than the model gives", sure: topic},
		{text: "maximum value for max tokens", kind: fault.Invalid, reason: "a parameter that asks for more of an answer than the model gives"},
		{text: "maximum tokens you requested", kind: fault.Invalid, reason: "a parameter that asks for more of an answer than the model gives"},
		{text: "max tokens ~ exceeds the max", kind: fault.Invalid, reason: "a parameter that asks for more of an answer than the model gives"},
		{text: "max tokens is too large", kind: fault.Invalid, reason: "a parameter that asks for more of an answer than the model gives"},

		// A rate that reads like a size.
		{text: "tokens allowed within a given time", kind: fault.RateLimited, reason: "a rate that reads like a size"},

		// Tokens or bytes over the limit.
		{text: "prompt is too long", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "prompt too long", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "input is too long", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "request is too long", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "context length", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "context limit", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "context window", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "context size", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "context overflow", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "exceeds * maximum number of tokens", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "exceeds the limit of * tokens", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "maximum * tokens allowed", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "reduce the length of the", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "string too long", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "request body too large", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "request too large", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "payload too large", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "content too large", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "request entity too large", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "request size exceeds", kind: fault.TooLong, reason: "tokens or bytes over the limit"},
		{text: "request exceeds the maximum size", kind: fault.TooLong, reason: "tokens or bytes over the limit"},

		// A window of at most minutes, whatever is advertised beside it.
		{text: "per second", kind: fault.RateLimited, reason: "a window of at most minutes, whatever is advertised beside it"},
		{text: "per min", kind: fault.RateLimited, reason: "a window of at most minutes, whatever is advertised beside it"},
		{text: "per minute", kind: fault.RateLimited, reason: "a window of at most minutes, whatever is advertised beside it"},

		// The account is spent.
		{text: "credit balance", kind: fault.Quota, reason: "the account is spent", sure: topic},
		{text: "insufficient credit", kind: fault.Quota, reason: "the account is spent"},
		{text: "insufficient credits", kind: fault.Quota, reason: "the account is spent"},
		{text: "insufficient balance", kind: fault.Quota, reason: "the account is spent"},
		{text: "insufficient funds", kind: fault.Quota, reason: "the account is spent"},
		{text: "insufficient quota", kind: fault.Quota, reason: "the account is spent"},
		{text: "not enough credits", kind: fault.Quota, reason: "the account is spent"},
		{text: "requires more credits", kind: fault.Quota, reason: "the account is spent"},
		{text: "out of credits", kind: fault.Quota, reason: "the account is spent"},
		{text: "no credit left", kind: fault.Quota, reason: "the account is spent"},
		{text: "exceeded your current quota", kind: fault.Quota, window: true, reason: "the account is spent"},
		{text: "billing hard limit", kind: fault.Quota, reason: "the account is spent", sure: topic},
		{text: "spending limit", kind: fault.Quota, reason: "the account is spent", sure: topic},
		{text: "spend limit", kind: fault.Quota, reason: "the account is spent", sure: topic},
		{text: "spending cap", kind: fault.Quota, reason: "the account is spent", sure: topic},
		{text: "payment required", kind: fault.Quota, reason: "the account is spent"},
		{text: "payment is past due", kind: fault.Quota, reason: "the account is spent"},
		{text: "payment method is required", kind: fault.Quota, reason: "the account is spent"},
		{text: "past due", kind: fault.Quota, reason: "the account is spent", sure: topic},

		// A long window is used up.
		{text: "usage limit", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "used all your * usage", kind: fault.Quota, window: true, reason: "a long window is used up"},
		{text: "monthly limit", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "weekly limit", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "daily limit", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "daily * limit", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "weekly * limit", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "monthly * limit", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "monthly quota", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "weekly quota", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "daily quota", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "per day", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "per 1 day", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "per 24 hour", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "per 1 month", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "per week", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "per month", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "5 hour", kind: fault.Quota, window: true, reason: "a long window is used up", sure: topic},
		{text: "quota exhausted", kind: fault.Quota, window: true, reason: "a long window is used up"},
		{text: "quota exceeded", kind: fault.Quota, window: true, reason: "a long window is used up"},

		// A 429 that names a long window; one that states a short wait is a throttle all the same.
		{text: "daily", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "weekly", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "monthly", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "today", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "tomorrow", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "midnight", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "this week", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "this month", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "for the day", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "for the week", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "for the month", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "billing cycle", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "billing period", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "allotment", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "24 hour", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},
		{text: "24h", status: 429, kind: fault.Quota, window: true, reason: "a 429 that names a long window; one that states a short wait is a throttle all the same"},

		// Plan, policy, geography.
		{text: "content policy", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "content filter", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "content management policy", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "usage policy", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "usage policies", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "safety system", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "location is not supported", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "country, region, or territory not supported", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "not available in your country", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "not available in your region", kind: fault.Refused, reason: "plan, policy, geography", sure: topic},
		{text: "unsupported country", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "organization has been disabled", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "account has been disabled", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "account has been deactivated", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "not allowed for this organization", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "access is denied", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "access denied", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "permission denied", kind: fault.Refused, reason: "plan, policy, geography"},
		{text: "not authorized to", kind: fault.Refused, reason: "plan, policy, geography"},

		// Credentials.
		{text: "invalid api key", kind: fault.Auth, reason: "credentials"},
		{text: "incorrect api key", kind: fault.Auth, reason: "credentials"},
		{text: "invalid x-api-key", kind: fault.Auth, reason: "credentials"},
		{text: "missing api key", kind: fault.Auth, reason: "credentials"},
		{text: "api key not valid", kind: fault.Auth, reason: "credentials"},
		{text: "api key not found", kind: fault.Auth, reason: "credentials"},
		{text: "api key expired", kind: fault.Auth, reason: "credentials"},
		{text: "api key is not set", kind: fault.Auth, reason: "credentials"},
		{text: "api key is required", kind: fault.Auth, reason: "credentials"},
		{text: "no auth credentials", kind: fault.Auth, reason: "credentials"},
		{text: "invalid authentication", kind: fault.Auth, reason: "credentials"},
		{text: "invalid bearer token", kind: fault.Auth, reason: "credentials"},
		{text: "authentication required", kind: fault.Auth, reason: "credentials"},

		{text: "error loading model", kind: fault.Invalid, reason: "a local server cannot load it: memory, or a broken file"},

		// Capacity.
		{text: "overloaded", kind: fault.Overloaded, reason: "capacity"},
		{text: "at capacity", kind: fault.Overloaded, reason: "capacity"},
		{text: "over capacity", kind: fault.Overloaded, reason: "capacity"},
		{text: "no capacity", kind: fault.Overloaded, reason: "capacity"},
		{text: "capacity * exceeded", kind: fault.Overloaded, reason: "capacity"},
		{text: "system capacity", kind: fault.Overloaded, reason: "capacity"},
		{text: "server is busy", kind: fault.Overloaded, reason: "capacity"},
		{text: "too busy", kind: fault.Overloaded, reason: "capacity"},
		{text: "model busy", kind: fault.Overloaded, reason: "capacity"},
		{text: "currently busy", kind: fault.Overloaded, reason: "capacity"},
		{text: "high traffic", kind: fault.Overloaded, reason: "capacity"},
		{text: "high demand", kind: fault.Overloaded, reason: "capacity"},
		{text: "high load", kind: fault.Overloaded, reason: "capacity"},
		{text: "queue is full", kind: fault.Overloaded, reason: "capacity"},
		{text: "queue full", kind: fault.Overloaded, reason: "capacity"},
		{text: "loading model", kind: fault.Overloaded, reason: "capacity"},
		{text: "is currently loading", kind: fault.Overloaded, reason: "capacity"},
		{text: "model is loading", kind: fault.Overloaded, reason: "capacity"},
		{text: "still loading", kind: fault.Overloaded, reason: "capacity"},
		{text: "slow down", status: 429, kind: fault.RateLimited, reason: "capacity"},
		{text: "slow down", kind: fault.Overloaded, reason: "capacity"},
		{text: "temporarily unavailable", kind: fault.Overloaded, reason: "capacity"},

		// Throttles.
		{text: "rate limit", kind: fault.RateLimited, reason: "throttles"},
		{text: "rate limited", kind: fault.RateLimited, reason: "throttles"},
		{text: "rate limiting", kind: fault.RateLimited, reason: "throttles"},
		{text: "too many requests", kind: fault.RateLimited, reason: "throttles"},
		{text: "too many concurrent", kind: fault.RateLimited, reason: "throttles"},
		{text: "concurrency limit", kind: fault.RateLimited, reason: "throttles"},
		{text: "request limit reached", kind: fault.RateLimited, reason: "throttles"},
		{text: "being throttled", kind: fault.RateLimited, reason: "throttles"},
		{text: "throttled", kind: fault.RateLimited, reason: "throttles"},

		// Our request.
		{text: "model not found", kind: fault.Invalid, reason: "our request"},
		{text: "model does not exist", kind: fault.Invalid, reason: "our request"},
		{text: "is not a valid model", kind: fault.Invalid, reason: "our request"},
		{text: "no endpoints found", kind: fault.Invalid, reason: "our request"},
		{text: "no allowed providers", kind: fault.Invalid, reason: "our request"},
		{text: "more system memory", kind: fault.Invalid, reason: "the model does not fit this machine"},
		{text: "unable to allocate", kind: fault.Invalid, reason: "the model does not fit this machine"},

		// Faults of the server.
		{text: "request timed out", kind: fault.UpstreamTimeout, reason: "faults of the server"},
	},
}
