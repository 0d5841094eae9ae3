package classify

import "github.com/ridethrough/ridethrough/fault"

// qwen is Alibaba's Model Studio (DashScope) in its own form and in OpenAI's.
// Source: help.aliyun.com/model-studio/error-code.
var qwen = table{
	vendor: "qwen",
	names: []row{
		{name: "insufficient_quota", text: "hour allocated quota exceeded", kind: fault.Quota, window: true, reason: "the plan's window of hours"},
		{name: "insufficient_quota", text: "week allocated quota exceeded", kind: fault.Quota, window: true, reason: "the plan's week"},
		{name: "insufficient_quota", text: "month allocated quota exceeded", kind: fault.Quota, window: true, reason: "the plan's month"},
		{name: "insufficient_quota", text: "allocated quota exceeded", kind: fault.RateLimited, reason: "OpenAI's name for an empty account, but here a limit of tokens in a minute"},
		{name: "Throttling.AllocationQuota", kind: fault.RateLimited, reason: "a limit of tokens in a minute, whatever it sounds like"},
		{name: "Throttling.RateQuota", kind: fault.RateLimited, reason: "a limit of requests in a minute"},
		{name: "Throttling.BurstRate", kind: fault.RateLimited, reason: "the traffic has grown too fast"},
		{name: "AllocationQuota.FreeTierOnly", kind: fault.Quota, reason: "403: the free quota is spent, and no other is allowed"},
		{name: "Arrearage", kind: fault.Quota, reason: "400, but the account has not paid"},
		{name: "PrepaidBillOverdue", kind: fault.Quota, reason: "the plan has ended"},
		{name: "PostpaidBillOverdue", kind: fault.Quota, reason: "the account has not paid"},
		{name: "CommodityNotPurchased", kind: fault.Quota, reason: "the product has to be bought first"},
		{name: "AccessDenied.Unpurchased", kind: fault.Refused, reason: "the product has to be switched on first"},
		{name: "Model.AccessDenied", kind: fault.Refused, reason: "the workspace may not use the model"},
		{name: "DataInspectionFailed", kind: fault.Refused, reason: "the content filter, of the input or of the answer"},
		{name: "data_inspection_failed", kind: fault.Refused, reason: "the content filter, of the input or of the answer"},
		{name: "BadRequest.TooLarge", kind: fault.TooLong, reason: "bytes"},
		{name: "InternalError.Timeout", kind: fault.UpstreamTimeout, reason: "500"},
		{name: "ModelServingError", kind: fault.Unavailable, reason: "the model failed, or has no capacity"},
		{name: "InvalidParameter", text: "range of input length should be", kind: fault.TooLong, reason: "the context window"},
		{name: "invalid_parameter_error", text: "range of input length should be", kind: fault.TooLong, reason: "the context window"},
	},
	broadNames: []row{
		{name: "limit_requests", kind: fault.RateLimited, reason: "a limit of requests in a minute"},
		{name: "limit_burst_rate", kind: fault.RateLimited, reason: "the traffic has grown too fast"},
	},
	weakNames: []row{
		{name: "InternalError.Algo", kind: fault.Unavailable, reason: "500"},
		{name: "InvalidParameter", kind: fault.Invalid, reason: "400"},
		{name: "invalid_parameter_error", kind: fault.Invalid, reason: "400"},
	},
	texts: []row{
		{text: "hour allocated quota exceeded", kind: fault.Quota, window: true, reason: "the plan's window of hours"},
		{text: "week allocated quota exceeded", kind: fault.Quota, window: true, reason: "the plan's week"},
		{text: "month allocated quota exceeded", kind: fault.Quota, window: true, reason: "the plan's month"},
		{text: "allocated quota exceeded", kind: fault.RateLimited, reason: "a limit of tokens in a minute, whatever it sounds like"},
		{text: "free tier of the model has been exhausted", kind: fault.Quota, reason: "the free quota is spent, and no other is allowed"},
		{text: "range of input length should be", kind: fault.TooLong, reason: "the context window"},
		{text: "throttled due to system capacity limits", kind: fault.Overloaded, reason: "everybody's load"},
		{text: "account is in good standing", kind: fault.Quota, reason: "the sentence of Arrearage"},
		{text: "requests rate limit exceeded", kind: fault.RateLimited, reason: "a limit of requests in a minute"},
		{text: "inappropriate content", kind: fault.Refused, reason: "the content filter"},
	},
}
