package classify

import "github.com/ridethrough/ridethrough/fault"

// gemini is Google's: the Gemini API, Vertex AI and Code Assist. Sources:
// ai.google.dev/gemini-api/docs/api-errors and /troubleshooting, Vertex AI's api-errors,
// google/rpc/error_details.proto. The names of google.rpc.Code are in grpc.go.
//
// "You exceeded your current quota" is used for a minute's window, a day's, and a plan without the model.
// They differ in the other fields: the quota's id, its limit, and how long to wait.
var gemini = table{
	vendor: "gemini",
	names: []row{
		{name: "userRateLimitExceeded", kind: fault.RateLimited, reason: "403 of Google's older APIs"},
		{name: "rateLimitExceeded", status: 403, kind: fault.RateLimited, reason: "403 of Google's older APIs"},
		{name: "dailyLimitExceeded", kind: fault.Quota, window: true, reason: "403 of Google's older APIs"},
		{name: "QUOTA_EXHAUSTED", kind: fault.Quota, window: true, reason: "Code Assist: the window of the plan is used up"},
		{name: "MODEL_CAPACITY_EXHAUSTED", kind: fault.Overloaded, reason: "Code Assist: the model has no capacity, for any account"},
		{name: "INSUFFICIENT_G1_CREDITS_BALANCE", kind: fault.Quota, reason: "the credits of the subscription are spent"},
		{name: "API_KEY_INVALID", kind: fault.Auth, reason: "stated with 400"},
		{name: "API_KEY_EXPIRED", kind: fault.Auth, reason: "stated with 400"},
		{name: "ACCESS_TOKEN_EXPIRED", kind: fault.Auth, reason: "an OAuth token needs to be renewed"},
		{name: "ACCESS_TOKEN_TYPE_UNSUPPORTED", kind: fault.Auth, reason: "another kind of credential is wanted"},
		{name: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", kind: fault.Auth, reason: "the token was not granted for this"},
		{name: "CREDENTIALS_MISSING", kind: fault.Auth, reason: "nothing was sent"},
		{name: "SERVICE_DISABLED", kind: fault.Refused, reason: "the project has not switched the API on"},
		{name: "BILLING_DISABLED", kind: fault.Quota, reason: "the project has no billing"},
		{name: "CONSUMER_SUSPENDED", kind: fault.Refused, reason: "the project is suspended"},
		{name: "CONSUMER_INVALID", kind: fault.Refused, reason: "there is no such project"},
		{name: "IAM_PERMISSION_DENIED", kind: fault.Refused, reason: "a role is missing"},
		{name: "VALIDATION_REQUIRED", kind: fault.Refused, reason: "Code Assist: the account has to be verified"},
		{name: "USER_PROJECT_DENIED", kind: fault.Refused, reason: "the project may not be charged"},
		{name: "LOCATION_POLICY_VIOLATED", kind: fault.Refused, reason: "geography"},

		{name: "finish_reason SAFETY", kind: fault.Refused, reason: "the answer was filtered"},
		{name: "finish_reason RECITATION", kind: fault.Refused, reason: "the answer would have been a quotation"},
		{name: "finish_reason BLOCKLIST", kind: fault.Refused, reason: "the answer was filtered"},
		{name: "finish_reason PROHIBITED_CONTENT", kind: fault.Refused, reason: "the answer was filtered"},
		{name: "finish_reason SPII", kind: fault.Refused, reason: "personal data in the answer"},
		{name: "finish_reason LANGUAGE", kind: fault.Refused, reason: "the language is not supported"},
		{name: "finish_reason MALFORMED_FUNCTION_CALL", kind: fault.Unknown, reason: "a mishap of sampling: the next sample may be well-formed"},
		{name: "finish_reason UNEXPECTED_TOOL_CALL", kind: fault.Unknown, reason: "a mishap of sampling: the next sample may be well-formed"},
		{name: "PROHIBITED_CONTENT", kind: fault.Refused, reason: "a reason to block the prompt"},
		{name: "BLOCKLIST", kind: fault.Refused, reason: "a reason to block the prompt"},
		{name: "SAFETY", kind: fault.Refused, reason: "a reason to block the prompt"},

		{name: "authentication", kind: fault.Auth, reason: "the Interactions API's word for 401"},
		{name: "payment_required", kind: fault.Quota, reason: "the Interactions API's word for 402"},
		{name: "parameter_unknown", kind: fault.Invalid, reason: "the Interactions API's word for a parameter that it does not have"},
	},
	weakNames: []row{
		{name: "invalid_request", kind: fault.Invalid, reason: "the Interactions API's word for 400"},
	},
	texts: []row{
		{text: "quota exceeded for metric * limit: 0", kind: fault.Quota, reason: "the plan does not have the model: a stated wait opens nothing"},
		{text: `quota value" * "0"`, kind: fault.Quota, reason: "the plan does not have the model: a stated wait opens nothing"},
		{text: "quota id * per day", kind: fault.Quota, window: true, reason: "the longest of the windows that are named decides"},
		{text: "quota id * per month", kind: fault.Quota, window: true, reason: "the longest of the windows that are named decides"},
		{text: "quota id * per minute", kind: fault.RateLimited, reason: "only windows of a minute are named"},
		{text: "quota id * per second", kind: fault.RateLimited, reason: "only windows of a second are named"},
		{text: "exceeded your current quota * ai.google.dev", kind: fault.Unknown, window: true, reason: "the window is not stated"},
		{text: "quota exceeded for * per day", kind: fault.Quota, window: true, reason: "a quota metric of Google's clouds, with its window in the name"},
		{text: "quota exceeded for aiplatform.googleapis.com", kind: fault.RateLimited, reason: "the quotas of Vertex AI are those of a minute"},
		{text: "prepayment credits are depleted", kind: fault.Quota, reason: "429, but the account is spent"},
		{text: "resource has been exhausted", kind: fault.RateLimited, reason: "without details it is mostly the capacity of the moment"},
		{text: "resource exhausted", kind: fault.RateLimited, reason: "Vertex AI: shared capacity, without a quota of ours"},
		{text: "exhausted your capacity", kind: fault.Quota, window: true, reason: "Code Assist: the plan's window, with a stated reset"},
		{text: "exhausted your daily quota", kind: fault.Quota, window: true, reason: "Code Assist: the day is used up"},
		{text: "no capacity available for model", kind: fault.Overloaded, reason: "Code Assist: no capacity for any account"},
		{text: "the model is overloaded", kind: fault.Overloaded, reason: "the usual sentence of a 503"},
		{text: "user location is not supported", kind: fault.Refused, reason: "geography, stated with 400"},
		{text: "input token count * exceeds the maximum number of tokens", kind: fault.TooLong, reason: "the context window"},
		{text: "is not allowed to use publisher model", kind: fault.Refused, reason: "the project has no access, stated with 400"},
		{text: "has not been used in project", kind: fault.Refused, reason: "the project has not switched the API on"},
		{text: "request payload size exceeds", kind: fault.TooLong, reason: "bytes"},
		{text: "reported as leaked", kind: fault.Auth, reason: "the key is blocked, stated with 403"},
	},
}
