package classify

import "github.com/ridethrough/ridethrough/fault"

// baidu is Baidu's Qianfan. Its errors are small numbers with a sentence, mostly inside a 200; the sentence is
// compared, since any vendor may count to 18. Source: the error codes of its inference API.
var baidu = table{
	vendor: "baidu",
	names: []row{
		{name: "rpm_rate_limit_exceeded", kind: fault.RateLimited, reason: "requests in a minute"},
		{name: "tpm_rate_limit_exceeded", kind: fault.RateLimited, reason: "tokens in a minute"},
		{name: "characters_too_long", kind: fault.TooLong, reason: "characters of the input"},
		{name: "no_parameter_permission", kind: fault.Refused, reason: "401, but a parameter that needs a permission"},
	},
	texts: []row{
		{text: "open api qps request limit reached", kind: fault.RateLimited, reason: "18: requests in a second"},
		{text: "open api daily request limit reached", kind: fault.Quota, window: true, reason: "17: the day, or an account that has not paid"},
		{text: "open api total request limit reached", kind: fault.Quota, reason: "19: the free requests, for good"},
		{text: "open api request limit reached", kind: fault.Overloaded, reason: "4: the limit of the cluster"},
		{text: "access token invalid or no longer valid", kind: fault.Auth, reason: "110"},
		{text: "no permission to access data", kind: fault.Refused, reason: "6"},
		{text: "unsupported openapi method", kind: fault.Invalid, reason: "3"},
		{text: "IAM certification failed", kind: fault.Auth, reason: "14"},
	},
}
