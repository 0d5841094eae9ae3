package classify

import "github.com/ridethrough/ridethrough/fault"

// xai is xAI's API. Its errors are {"code": …, "error": …}, and the code is often
// the sentence of a gRPC status. Source: docs.x.ai on debugging and on limits.
var xai = table{
	vendor: "xai",
	names: []row{
		{name: "subscription:free-usage-exhausted", kind: fault.Quota, window: true, why: "the free window of the plan"},
	},
	says: []row{
		{says: "used all available credits", kind: fault.Quota, why: "the prepaid credits, or the spend limit of the month"},
		{says: "run out of credits", kind: fault.Quota, why: "403, but the account is spent"},
		{says: "used all your free usage", kind: fault.Quota, window: true, why: "the free window of the plan"},
		{says: "maximum prompt length", kind: fault.TooLong, why: "the context window"},
		{says: "content violates usage guidelines", kind: fault.Refused, why: "403: the filter"},
		{says: "currently at capacity", kind: fault.Overloaded, why: "the model's capacity, whoever asks"},
		{says: "some resource has been exhausted", kind: fault.RateLimited, why: "the code of a 429 whose sentence says no more"},
	},
}
