package fault

// xai is xAI's API. Its errors are {"code": …, "error": …}, and the code is often
// the sentence of a gRPC status. Source: docs.x.ai on debugging and on limits.
var xai = table{
	vendor: "xai",
	names: []row{
		{name: "subscription:free-usage-exhausted", kind: Quota, window: true, why: "the free window of the plan"},
	},
	says: []row{
		{says: "used all available credits", kind: Quota, why: "the prepaid credits, or the spend limit of the month"},
		{says: "run out of credits", kind: Quota, why: "403, but the account is spent"},
		{says: "used all your free usage", kind: Quota, window: true, why: "the free window of the plan"},
		{says: "maximum prompt length", kind: TooLong, why: "the context window"},
		{says: "content violates usage guidelines", kind: Refused, why: "403: the filter"},
		{says: "currently at capacity", kind: Overloaded, why: "the model's capacity, whoever asks"},
		{says: "some resource has been exhausted", kind: RateLimited, why: "the code of a 429 whose sentence says no more"},
	},
}
