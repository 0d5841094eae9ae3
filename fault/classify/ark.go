package classify

import "github.com/ridethrough/ridethrough/fault"

// ark is Volcengine's Ark (Doubao). Its codes are made of parts; the many of the form …RateLimitExceeded and
// InvalidParameter.… need no rows. Source: www.volcengine.com/docs/82379/1299023.
var ark = table{
	vendor: "ark",
	names: []row{
		{name: "AccountOverdueError", kind: fault.Quota, reason: "403, but the account has not paid"},
		{name: "ServerOverloaded", kind: fault.Overloaded, reason: "429, but everybody's load"},
		{name: "SetLimitExceeded", kind: fault.Quota, reason: "429: the limit that the account has set"},
		{name: "InflightBatchsizeExceeded", kind: fault.RateLimited, reason: "calls in progress, which end"},
		{name: "RequestBurstTooFast", kind: fault.RateLimited, reason: "the traffic has grown too fast"},
		{name: "ModelNotOpen", kind: fault.Refused, reason: "404: the account has not switched the model on"},
		{name: "SensitiveContentDetected", kind: fault.Refused, reason: "the content filter"},
		{name: "InputTextRiskDetection", kind: fault.Refused, reason: "the content filter"},
		{name: "OutputTextRiskDetection", kind: fault.Refused, reason: "the content filter"},
		{name: "InputTextSensitiveContentDetected", kind: fault.Refused, reason: "the content filter"},
		{name: "OutputTextSensitiveContentDetected", kind: fault.Refused, reason: "the content filter"},
		{name: "InputImageSensitiveContentDetected", kind: fault.Refused, reason: "the content filter"},
	},
	weakNames: []row{
		{name: "InternalServiceError", kind: fault.Unavailable, reason: "500"},
	},
}
