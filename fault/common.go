package fault

import (
	"strconv"
	"strings"
)

// common is what everybody says. These sentences decide where no name, no
// status of one meaning and no vendor's own table has. "Try again" is not among
// them: it proves nothing.
var common = table{
	vendor: "common",
	says: []row{
		// One request that is larger than all that is granted in a minute: waiting never helps.
		{says: "request too large * per min", kind: Invalid, why: "larger than the whole budget of a minute"},
		{says: "retry after 86400 seconds", kind: Invalid, why: "Azure's way to say: larger than the budget of a minute"},

		// Tokens or bytes over the limit.
		{says: "prompt is too long", kind: TooLong},
		{says: "prompt too long", kind: TooLong},
		{says: "input is too long", kind: TooLong},
		{says: "request is too long", kind: TooLong},
		{says: "context length", kind: TooLong},
		{says: "context limit", kind: TooLong},
		{says: "context window", kind: TooLong},
		{says: "context size", kind: TooLong},
		{says: "context overflow", kind: TooLong},
		{says: "exceeds * maximum number of tokens", kind: TooLong},
		{says: "exceeds the limit of * tokens", kind: TooLong},
		{says: "maximum * tokens allowed", kind: TooLong},
		{says: "reduce the length of the", kind: TooLong},
		{says: "string too long", kind: TooLong},
		{says: "request body too large", kind: TooLong},
		{says: "request too large", kind: TooLong},
		{says: "payload too large", kind: TooLong},
		{says: "content too large", kind: TooLong},
		{says: "request entity too large", kind: TooLong},
		{says: "request size exceeds", kind: TooLong},
		{says: "request exceeds the maximum size", kind: TooLong},

		// A window of at most minutes, whatever is advertised beside it.
		{says: "per second", kind: RateLimited},
		{says: "per min", kind: RateLimited},
		{says: "per minute", kind: RateLimited},

		// The account is spent.
		{says: "credit balance", kind: Quota},
		{says: "insufficient credit", kind: Quota},
		{says: "insufficient credits", kind: Quota},
		{says: "insufficient balance", kind: Quota},
		{says: "insufficient funds", kind: Quota},
		{says: "insufficient quota", kind: Quota},
		{says: "not enough credits", kind: Quota},
		{says: "requires more credits", kind: Quota},
		{says: "out of credits", kind: Quota},
		{says: "no credits", kind: Quota},
		{says: "no credit left", kind: Quota},
		{says: "exceeded your current quota", kind: Quota, window: true},
		{says: "billing hard limit", kind: Quota},
		{says: "spending limit", kind: Quota},
		{says: "spend limit", kind: Quota},
		{says: "spending cap", kind: Quota},
		{says: "payment required", kind: Quota},
		{says: "payment is past due", kind: Quota},
		{says: "payment method is required", kind: Quota},
		{says: "past due", kind: Quota},

		// A long window is used up.
		{says: "usage limit", kind: Quota, window: true},
		{says: "used all your * usage", kind: Quota, window: true},
		{says: "monthly limit", kind: Quota, window: true},
		{says: "weekly limit", kind: Quota, window: true},
		{says: "daily limit", kind: Quota, window: true},
		{says: "daily * limit", kind: Quota, window: true},
		{says: "weekly * limit", kind: Quota, window: true},
		{says: "monthly * limit", kind: Quota, window: true},
		{says: "monthly quota", kind: Quota, window: true},
		{says: "weekly quota", kind: Quota, window: true},
		{says: "daily quota", kind: Quota, window: true},
		{says: "per day", kind: Quota, window: true},
		{says: "per week", kind: Quota, window: true},
		{says: "per month", kind: Quota, window: true},
		{says: "5 hour", kind: Quota, window: true},
		{says: "quota exhausted", kind: Quota, window: true},
		{says: "quota exceeded", kind: Quota, window: true},

		// Plan, policy, geography.
		{says: "content policy", kind: Refused},
		{says: "content filter", kind: Refused},
		{says: "content management policy", kind: Refused},
		{says: "usage policy", kind: Refused},
		{says: "usage policies", kind: Refused},
		{says: "safety system", kind: Refused},
		{says: "location is not supported", kind: Refused},
		{says: "country, region, or territory not supported", kind: Refused},
		{says: "not available in your country", kind: Refused},
		{says: "not available in your region", kind: Refused},
		{says: "unsupported country", kind: Refused},
		{says: "organization has been disabled", kind: Refused},
		{says: "account has been disabled", kind: Refused},
		{says: "account has been deactivated", kind: Refused},
		{says: "not allowed for this organization", kind: Refused},
		{says: "access is denied", kind: Refused},
		{says: "access denied", kind: Refused},
		{says: "permission denied", kind: Refused},
		{says: "not authorized to", kind: Refused},

		// Credentials.
		{says: "invalid api key", kind: Auth},
		{says: "incorrect api key", kind: Auth},
		{says: "invalid x-api-key", kind: Auth},
		{says: "missing api key", kind: Auth},
		{says: "api key not valid", kind: Auth},
		{says: "api key not found", kind: Auth},
		{says: "api key expired", kind: Auth},
		{says: "api key is not set", kind: Auth},
		{says: "api key is required", kind: Auth},
		{says: "no auth credentials", kind: Auth},
		{says: "invalid authentication", kind: Auth},
		{says: "invalid bearer token", kind: Auth},
		{says: "authentication required", kind: Auth},

		{says: "error loading model", kind: Invalid, why: "a local server cannot load it: memory, or a broken file"},

		// Capacity.
		{says: "overloaded", kind: Overloaded},
		{says: "at capacity", kind: Overloaded},
		{says: "over capacity", kind: Overloaded},
		{says: "no capacity", kind: Overloaded},
		{says: "capacity * exceeded", kind: Overloaded},
		{says: "system capacity", kind: Overloaded},
		{says: "server is busy", kind: Overloaded},
		{says: "too busy", kind: Overloaded},
		{says: "model busy", kind: Overloaded},
		{says: "currently busy", kind: Overloaded},
		{says: "high traffic", kind: Overloaded},
		{says: "high demand", kind: Overloaded},
		{says: "high load", kind: Overloaded},
		{says: "queue is full", kind: Overloaded},
		{says: "queue full", kind: Overloaded},
		{says: "loading model", kind: Overloaded},
		{says: "is currently loading", kind: Overloaded},
		{says: "model is loading", kind: Overloaded},
		{says: "still loading", kind: Overloaded},
		{says: "slow down", kind: Overloaded},
		{says: "temporarily unavailable", kind: Overloaded},
		{says: "service unavailable", kind: Overloaded},

		// Throttles.
		{says: "rate limit", kind: RateLimited},
		{says: "rate limited", kind: RateLimited},
		{says: "rate limiting", kind: RateLimited},
		{says: "too many requests", kind: RateLimited},
		{says: "too many concurrent", kind: RateLimited},
		{says: "concurrency limit", kind: RateLimited},
		{says: "request limit reached", kind: RateLimited},
		{says: "being throttled", kind: RateLimited},
		{says: "throttled", kind: RateLimited},

		// Our request.
		{says: "model not found", kind: Invalid},
		{says: "model does not exist", kind: Invalid},
		{says: "is not a valid model", kind: Invalid},
		{says: "no endpoints found", kind: Invalid},
		{says: "no allowed providers", kind: Invalid},
		{says: "more system memory", kind: Invalid, why: "the model does not fit this machine"},
		{says: "unable to allocate", kind: Invalid, why: "the model does not fit this machine"},

		// Faults of the server.
		{says: "internal server error", kind: Unavailable},
		{says: "the server had an error", kind: Unavailable},
		{says: "bad gateway", kind: Unavailable},
		{says: "gateway timeout", kind: UpstreamTimeout},
		{says: "gateway time-out", kind: UpstreamTimeout},
		{says: "request timed out", kind: UpstreamTimeout},
	},
}

// oversized rules on a sentence that states a budget of tokens and a request
// beyond it, "TPM: Limit 30000, Requested 45000": that one never passes. With
// tokens in use beside it, the sum is over the limit and a wait helps.
func oversized(l Layer) (Ruling, bool) {
	_, rest, ok := strings.Cut(l.folded, "limit ")
	if !ok {
		return Ruling{}, false
	}
	limit := leadingNumber(rest)
	_, rest, ok = strings.Cut(rest[:min(len(rest), reach)], "requested ")
	if !ok || limit == 0 || leadingNumber(rest) <= limit {
		return Ruling{}, false
	}
	return Ruling{Kind: Invalid, Rule: "common/requested above limit", Reason: "larger than the whole budget"}, true
}

// leadingNumber reads the number at the start of a text; 0: there is none.
func leadingNumber(s string) float64 {
	n, err := strconv.ParseFloat(strings.TrimRight(s[:numberLen(s)], "."), 64)
	if err != nil {
		return 0
	}
	return n
}
