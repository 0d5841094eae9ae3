package classify

import "github.com/ridethrough/ridethrough/fault"

// zhipu is Zhipu's open platform and Z.AI: numbers of four digits as the code.
// Source: docs.bigmodel.cn/cn/api/api-code and docs.z.ai/api-reference/api-code.
var zhipu = table{
	vendor: "zhipu",
	shape:  func(l Layer) bool { return l.within != "errors" && (l.Type == "" || isNumber(l.Type)) },
	names: []row{
		{name: "1000", kind: fault.Auth, reason: "no authentication"},
		{name: "1001", kind: fault.Auth, reason: "no key in the header"},
		{name: "1002", kind: fault.Auth, reason: "the key is none"},
		{name: "1003", kind: fault.Auth, reason: "the key has expired"},
		{name: "1004", kind: fault.Auth, reason: "the key was not accepted"},
		{name: "1110", kind: fault.Refused, reason: "the account is not active"},
		{name: "1111", kind: fault.Auth, reason: "there is no such account"},
		{name: "1112", kind: fault.Refused, reason: "the account is locked"},
		{name: "1113", kind: fault.Quota, reason: "429, but the account has not paid"},
		{name: "1120", kind: fault.Unavailable, reason: "the account cannot be read at the moment"},
		{name: "1121", kind: fault.Refused, reason: "the account is locked over its content"},
		{name: "1210", kind: fault.Invalid, reason: "a parameter"},
		{name: "1211", kind: fault.Invalid, reason: "there is no such model"},
		{name: "1212", kind: fault.Invalid, reason: "the model cannot be called like this"},
		{name: "1213", kind: fault.Invalid, reason: "a parameter is missing"},
		{name: "1214", kind: fault.Invalid, reason: "a parameter is wrong"},
		{name: "1215", kind: fault.Invalid, reason: "parameters that exclude each other"},
		{name: "1220", kind: fault.Refused, reason: "no permission for this API"},
		{name: "1221", kind: fault.Invalid, reason: "the API is gone"},
		{name: "1222", kind: fault.Invalid, reason: "there is no such API"},
		{name: "1234", kind: fault.Unavailable, reason: "a network error of theirs"},
		{name: "1261", kind: fault.TooLong, reason: "the prompt is too long"},
		{name: "1300", status: 400, kind: fault.Refused, reason: "a policy of theirs; with 429 the number is Mistral's throttle"},
		{name: "1301", kind: fault.Refused, reason: "the content filter"},
		{name: "1302", kind: fault.RateLimited, reason: "too many calls at once, or in a minute"},
		{name: "1303", kind: fault.RateLimited, reason: "too many calls in a minute"},
		{name: "1304", kind: fault.Quota, window: true, reason: "the calls of the day are used up"},
		{name: "1305", kind: fault.Overloaded, reason: "the load of the model, not of the account"},
		{name: "1308", kind: fault.Quota, window: true, reason: "the plan's window of hours; the time when it opens has no zone"},
		{name: "1309", kind: fault.Quota, reason: "the plan has ended"},
		{name: "1310", kind: fault.Quota, window: true, reason: "the plan's week or month; the time when it opens has no zone"},
		{name: "1311", kind: fault.Refused, reason: "the plan does not include the model"},
		{name: "1312", kind: fault.Overloaded, reason: "the load of the model, not of the account"},
		{name: "1313", kind: fault.Refused, reason: "the account is restricted for fair use until support lifts it"},
	},
}

// chineseTexts are the errors of APIs and relays in Chinese: Zhipu, MiniMax, Volcengine and
// the many that run one-api or new-api.
var chineseTexts = table{
	vendor: "chinese",
	texts: []row{
		{text: "余额不足", kind: fault.Quota, reason: "the balance is too low"},
		{text: "欠费", kind: fault.Quota, reason: "the account has not paid"},
		{text: "额度不足", kind: fault.Quota, reason: "the quota is spent"},
		{text: "额度已用尽", kind: fault.Quota, reason: "the quota is spent"},
		{text: "请充值", kind: fault.Quota, reason: "asks for money"},
		{text: "今日调用次数", kind: fault.Quota, window: true, reason: "the calls of the day"},
		{text: "使用上限", kind: fault.Quota, window: true, reason: "the window of a plan"},
		{text: "套餐已到期", kind: fault.Quota, reason: "the plan has ended"},
		{text: "上游负载已饱和", kind: fault.Overloaded, reason: "the relay's providers are full"},
		{text: "访问量过大", kind: fault.Overloaded, reason: "everybody's load"},
		{text: "繁忙", kind: fault.Overloaded, reason: "busy"},
		{text: "负载过高", kind: fault.Overloaded, reason: "high load"},
		{text: "限流", kind: fault.RateLimited, reason: "throttled"},
		{text: "并发数过高", kind: fault.RateLimited, reason: "too many calls at once"},
		{text: "频率过高", kind: fault.RateLimited, reason: "too many calls in a minute"},
		{text: "速率限制", kind: fault.RateLimited, reason: "a rate limit"},
		{text: "请求过于频繁", kind: fault.RateLimited, reason: "too many calls in a minute"},
		{text: "敏感内容", kind: fault.Refused, reason: "the content filter"},
		{text: "超长", kind: fault.TooLong, reason: "too long"},
		{text: "模型不存在", kind: fault.Invalid, reason: "there is no such model"},
		{text: "无效的令牌", kind: fault.Auth, reason: "the key is none"},
		{text: "令牌已过期", kind: fault.Auth, reason: "the key has expired"},
		{text: "身份验证失败", kind: fault.Auth, reason: "no authentication"},
	},
}
