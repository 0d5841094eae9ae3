package classify

import "github.com/ridethrough/ridethrough/fault"

// qwen is Alibaba's Model Studio (DashScope) in its own form and in OpenAI's.
// Source: help.aliyun.com/model-studio/error-code.
var qwen = table{
	vendor: "qwen",
	names: []row{
		{name: "insufficient_quota", says: "hour allocated quota exceeded", kind: fault.Quota, window: true, why: "the plan's window of hours"},
		{name: "insufficient_quota", says: "week allocated quota exceeded", kind: fault.Quota, window: true, why: "the plan's week"},
		{name: "insufficient_quota", says: "month allocated quota exceeded", kind: fault.Quota, window: true, why: "the plan's month"},
		{name: "insufficient_quota", says: "allocated quota exceeded", kind: fault.RateLimited, why: "OpenAI's name for an empty account, but here a limit of tokens in a minute"},
		{name: "Throttling.AllocationQuota", kind: fault.RateLimited, why: "a limit of tokens in a minute, whatever it sounds like"},
		{name: "Throttling.RateQuota", kind: fault.RateLimited, why: "a limit of requests in a minute"},
		{name: "Throttling.BurstRate", kind: fault.RateLimited, why: "the traffic has grown too fast"},
		{name: "AllocationQuota.FreeTierOnly", kind: fault.Quota, why: "403: the free quota is spent, and no other is allowed"},
		{name: "Arrearage", kind: fault.Quota, why: "400, but the account has not paid"},
		{name: "PrepaidBillOverdue", kind: fault.Quota, why: "the plan has ended"},
		{name: "PostpaidBillOverdue", kind: fault.Quota, why: "the account has not paid"},
		{name: "CommodityNotPurchased", kind: fault.Quota, why: "the product has to be bought first"},
		{name: "AccessDenied.Unpurchased", kind: fault.Refused, why: "the product has to be switched on first"},
		{name: "Model.AccessDenied", kind: fault.Refused, why: "the workspace may not use the model"},
		{name: "DataInspectionFailed", kind: fault.Refused, why: "the content filter, of the input or of the answer"},
		{name: "data_inspection_failed", kind: fault.Refused, why: "the content filter, of the input or of the answer"},
		{name: "BadRequest.TooLarge", kind: fault.TooLong, why: "bytes"},
		{name: "InternalError.Timeout", kind: fault.UpstreamTimeout, why: "500"},
		{name: "ModelServingError", kind: fault.Unavailable, why: "the model failed, or has no capacity"},
		{name: "InvalidParameter", says: "range of input length should be", kind: fault.TooLong, why: "the context window"},
		{name: "invalid_parameter_error", says: "range of input length should be", kind: fault.TooLong, why: "the context window"},
	},
	family: []row{
		{name: "limit_requests", kind: fault.RateLimited, why: "a limit of requests in a minute"},
		{name: "limit_burst_rate", kind: fault.RateLimited, why: "the traffic has grown too fast"},
	},
	vague: []row{
		{name: "InternalError.Algo", kind: fault.Unavailable, why: "500"},
		{name: "InvalidParameter", kind: fault.Invalid, why: "400"},
		{name: "invalid_parameter_error", kind: fault.Invalid, why: "400"},
	},
	says: []row{
		{says: "hour allocated quota exceeded", kind: fault.Quota, window: true, why: "the plan's window of hours"},
		{says: "week allocated quota exceeded", kind: fault.Quota, window: true, why: "the plan's week"},
		{says: "month allocated quota exceeded", kind: fault.Quota, window: true, why: "the plan's month"},
		{says: "allocated quota exceeded", kind: fault.RateLimited, why: "a limit of tokens in a minute, whatever it sounds like"},
		{says: "free tier of the model has been exhausted", kind: fault.Quota, why: "the free quota is spent, and no other is allowed"},
		{says: "range of input length should be", kind: fault.TooLong, why: "the context window"},
		{says: "throttled due to system capacity limits", kind: fault.Overloaded, why: "everybody's load"},
		{says: "account is in good standing", kind: fault.Quota, why: "the sentence of Arrearage"},
		{says: "requests rate limit exceeded", kind: fault.RateLimited, why: "a limit of requests in a minute"},
		{says: "inappropriate content", kind: fault.Refused, why: "the content filter"},
	},
}
