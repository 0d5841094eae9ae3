package classify

import "github.com/ridethrough/ridethrough/fault"

// cohere is Cohere's API. Its errors are sentences without a name.
// Source: docs.cohere.com/reference/errors and /docs/rate-limits.
var cohere = table{
	vendor: "cohere",
	says: []row{
		{says: "API calls / month", kind: fault.Quota, window: true, why: "the trial key's month"},
		{says: "API calls / minute", kind: fault.RateLimited, why: "the trial key's minute"},
		{says: "past the per minute request limit", kind: fault.RateLimited, why: "the minute of any key"},
		{says: "too many tokens: max tokens must be", kind: fault.Invalid, why: "a parameter, not the context"},
		{says: "too many tokens:", kind: fault.TooLong, why: "the context window"},
		{says: "invalid api token", kind: fault.Auth, why: "401"},
	},
}
