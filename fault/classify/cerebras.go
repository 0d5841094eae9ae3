package classify

import "github.com/ridethrough/ridethrough/fault"

// cerebras is Cerebras's API. Source: inference-docs.cerebras.ai/support/error and
// /support/rate-limits.
var cerebras = table{
	vendor: "cerebras",
	names: []row{
		{name: "queue_exceeded", kind: fault.Overloaded, why: "429, but the queue of everybody is full"},
		{name: "wrong_api_key", kind: fault.Auth, why: "401"},
		{name: "request_quota_exceeded", says: "per day", kind: fault.Quota, window: true, why: "the window of a day"},
		{name: "token_quota_exceeded", says: "per day", kind: fault.Quota, window: true, why: "the window of a day"},
	},
	family: []row{
		{name: "request_quota_exceeded", kind: fault.RateLimited, why: "the window of a minute, or of an hour that says when it opens"},
		{name: "token_quota_exceeded", kind: fault.RateLimited, why: "the window of a minute, or of an hour that says when it opens"},
	},
	says: []row{
		{says: "experiencing high traffic", kind: fault.Overloaded, why: "the sentence of queue_exceeded"},
	},
}
