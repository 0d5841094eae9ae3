package classify

import "github.com/ridethrough/ridethrough/fault"

// cerebras is Cerebras's API. Source: inference-docs.cerebras.ai/support/error and /support/rate-limits.
var cerebras = table{
	vendor: "cerebras",
	names: []row{
		{name: "queue_exceeded", kind: fault.Overloaded, reason: "429, but the queue of everybody is full"},
		{name: "wrong_api_key", kind: fault.Auth, reason: "401"},
		{name: "request_quota_exceeded", text: "per day", kind: fault.Quota, window: true, reason: "the window of a day"},
		{name: "token_quota_exceeded", text: "per day", kind: fault.Quota, window: true, reason: "the window of a day"},
	},
	broadNames: []row{
		{name: "request_quota_exceeded", kind: fault.RateLimited, reason: "a window of a minute, or of an hour with a stated reset"},
		{name: "token_quota_exceeded", kind: fault.RateLimited, reason: "a window of a minute, or of an hour with a stated reset"},
	},
	texts: []row{
		{text: "experiencing high traffic", kind: fault.Overloaded, reason: "the sentence of queue_exceeded"},
	},
}
