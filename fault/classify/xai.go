package classify

import "github.com/ridethrough/ridethrough/fault"

// xai is xAI's API. Its errors are {"code": …, "error": …}, and the code is often
// the sentence of a gRPC status. Source: docs.x.ai on debugging and on limits.
var xai = table{
	vendor: "xai",
	names: []row{
		{name: "subscription:free-usage-exhausted", kind: fault.Quota, window: true, reason: "the free window of the plan"},
	},
	texts: []row{
		{text: "used all available credits", kind: fault.Quota, reason: "the prepaid credits, or the spend limit of the month"},
		{text: "run out of credits", kind: fault.Quota, reason: "403, but the account is spent"},
		{text: "used all your free usage", kind: fault.Quota, window: true, reason: "the free window of the plan"},
		{text: "maximum prompt length", kind: fault.TooLong, reason: "the context window"},
		{text: "content violates usage guidelines", kind: fault.Refused, reason: "403: the filter"},
		{text: "currently at capacity", kind: fault.Overloaded, reason: "the capacity of the model, not of the account"},
		{text: "some resource has been exhausted", kind: fault.RateLimited, reason: "the code of a 429 without details"},
	},
}
