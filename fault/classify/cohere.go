package classify

import "github.com/ridethrough/ridethrough/fault"

// cohere is Cohere's API. Its errors are texts without a code.
// Source: docs.cohere.com/reference/errors and /docs/rate-limits.
var cohere = table{
	vendor: "cohere",
	names: []row{
		{name: "finish_reason TIMEOUT", kind: fault.UpstreamTimeout, reason: "the generation took too long, and broke off"},
	},
	texts: []row{
		{text: "API calls / month", kind: fault.Quota, window: true, reason: "the trial key's month"},
		{text: "API calls / minute", kind: fault.RateLimited, reason: "the trial key's minute"},
		{text: "past the per minute request limit", kind: fault.RateLimited, reason: "the minute of any key"},
		{text: "too many tokens: max tokens must be", kind: fault.Invalid, reason: "a parameter, not the context"},
		{text: "too many tokens:", kind: fault.TooLong, reason: "the context window"},
		{text: "invalid api token", kind: fault.Auth, reason: "401"},
	},
}
