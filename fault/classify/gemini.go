package classify

import "github.com/ridethrough/ridethrough/fault"

// gemini is Google's: the Gemini API, Vertex AI and Code Assist. Sources:
// ai.google.dev/gemini-api/docs/api-errors and /troubleshooting, Vertex AI's
// api-errors, google/rpc/error_details.proto. The names of google.rpc.Code are in
// grpc.go.
//
// "You exceeded your current quota" is said for a minute's window, a day's, and a
// plan without the model. What tells them apart stands beside it: the quota's id,
// its limit, and how long to wait.
var gemini = table{
	vendor: "gemini",
	names: []row{
		{name: "QUOTA_EXHAUSTED", kind: fault.Quota, window: true, why: "Code Assist: the window of the plan is used up"},
		{name: "MODEL_CAPACITY_EXHAUSTED", kind: fault.Overloaded, why: "Code Assist: the model has no capacity left, whoever asks"},
		{name: "INSUFFICIENT_G1_CREDITS_BALANCE", kind: fault.Quota, why: "the credits of the subscription are spent"},
		{name: "API_KEY_INVALID", kind: fault.Auth, why: "stated with 400"},
		{name: "API_KEY_EXPIRED", kind: fault.Auth, why: "stated with 400"},
		{name: "ACCESS_TOKEN_EXPIRED", kind: fault.Auth, why: "an OAuth token needs to be renewed"},
		{name: "ACCESS_TOKEN_TYPE_UNSUPPORTED", kind: fault.Auth, why: "another kind of credential is wanted"},
		{name: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", kind: fault.Auth, why: "the token was not granted for this"},
		{name: "CREDENTIALS_MISSING", kind: fault.Auth, why: "nothing was sent"},
		{name: "SERVICE_DISABLED", kind: fault.Refused, why: "the project has not switched the API on"},
		{name: "BILLING_DISABLED", kind: fault.Quota, why: "the project has no billing"},
		{name: "CONSUMER_SUSPENDED", kind: fault.Refused, why: "the project is suspended"},
		{name: "CONSUMER_INVALID", kind: fault.Refused, why: "there is no such project"},
		{name: "IAM_PERMISSION_DENIED", kind: fault.Refused, why: "a role is missing"},
		{name: "VALIDATION_REQUIRED", kind: fault.Refused, why: "Code Assist: the account has to be verified"},
		{name: "USER_PROJECT_DENIED", kind: fault.Refused, why: "the project may not be charged"},
		{name: "LOCATION_POLICY_VIOLATED", kind: fault.Refused, why: "geography"},

		{name: "finish_reason SAFETY", kind: fault.Refused, why: "the answer was filtered"},
		{name: "finish_reason RECITATION", kind: fault.Refused, why: "the answer would have been a quotation"},
		{name: "finish_reason BLOCKLIST", kind: fault.Refused, why: "the answer was filtered"},
		{name: "finish_reason PROHIBITED_CONTENT", kind: fault.Refused, why: "the answer was filtered"},
		{name: "finish_reason SPII", kind: fault.Refused, why: "personal data in the answer"},
		{name: "finish_reason LANGUAGE", kind: fault.Refused, why: "the language is not supported"},
		{name: "finish_reason MALFORMED_FUNCTION_CALL", kind: fault.Unknown, why: "a mishap of sampling: the next sample may be well-formed"},
		{name: "finish_reason UNEXPECTED_TOOL_CALL", kind: fault.Unknown, why: "a mishap of sampling: the next sample may be well-formed"},
		{name: "PROHIBITED_CONTENT", kind: fault.Refused, why: "a reason to block the prompt"},
		{name: "BLOCKLIST", kind: fault.Refused, why: "a reason to block the prompt"},
		{name: "SAFETY", kind: fault.Refused, why: "a reason to block the prompt"},

		{name: "authentication", kind: fault.Auth, why: "the Interactions API's word for 401"},
		{name: "payment_required", kind: fault.Quota, why: "the Interactions API's word for 402"},
		{name: "parameter_unknown", kind: fault.Invalid, why: "the Interactions API's word for a parameter that it does not have"},
	},
	vague: []row{
		{name: "invalid_request", kind: fault.Invalid, why: "the Interactions API's word for 400"},
	},
	says: []row{
		{says: "quota exceeded for metric * limit: 0", kind: fault.Quota, why: "the plan does not have the model: a stated wait opens nothing"},
		{says: `quota value" * "0"`, kind: fault.Quota, why: "the plan does not have the model: a stated wait opens nothing"},
		{says: "quota id * per day", kind: fault.Quota, window: true, why: "the longest of the windows that are named decides"},
		{says: "quota id * per month", kind: fault.Quota, window: true, why: "the longest of the windows that are named decides"},
		{says: "quota id * per minute", kind: fault.RateLimited, why: "only windows of a minute are named"},
		{says: "quota id * per second", kind: fault.RateLimited, why: "only windows of a second are named"},
		{says: "exceeded your current quota * ai.google.dev", kind: fault.Unknown, window: true, why: "nothing says which window"},
		{says: "quota exceeded for * per day", kind: fault.Quota, window: true, why: "a quota metric of Google's clouds, with its window in the name"},
		{says: "quota exceeded for aiplatform.googleapis.com", kind: fault.RateLimited, why: "the quotas of Vertex AI are those of a minute"},
		{says: "prepayment credits are depleted", kind: fault.Quota, why: "429, but the account is spent"},
		{says: "resource has been exhausted", kind: fault.RateLimited, why: "without details it is mostly the capacity of the moment"},
		{says: "resource exhausted", kind: fault.RateLimited, why: "Vertex AI: shared capacity, without a quota of ours"},
		{says: "exhausted your capacity", kind: fault.Quota, window: true, why: "Code Assist: the window of the plan; it says when it opens"},
		{says: "exhausted your daily quota", kind: fault.Quota, window: true, why: "Code Assist: the day is used up"},
		{says: "no capacity available for model", kind: fault.Overloaded, why: "Code Assist: whoever asks"},
		{says: "the model is overloaded", kind: fault.Overloaded, why: "the usual sentence of a 503"},
		{says: "user location is not supported", kind: fault.Refused, why: "geography, stated with 400"},
		{says: "input token count * exceeds the maximum number of tokens", kind: fault.TooLong, why: "the context window"},
		{says: "is not allowed to use publisher model", kind: fault.Refused, why: "the project has no access, stated with 400"},
		{says: "has not been used in project", kind: fault.Refused, why: "the project has not switched the API on"},
		{says: "request payload size exceeds", kind: fault.TooLong, why: "bytes"},
		{says: "reported as leaked", kind: fault.Auth, why: "the key is blocked, stated with 403"},
	},
}
