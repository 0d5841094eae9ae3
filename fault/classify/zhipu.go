package classify

import "github.com/ridethrough/ridethrough/fault"

// zhipu is Zhipu's open platform and Z.AI: numbers of four digits as the code.
// Source: docs.bigmodel.cn/cn/api/api-code and docs.z.ai/api-reference/api-code.
var zhipu = table{
	vendor: "zhipu",
	names: []row{
		{name: "1000", kind: fault.Auth, why: "no authentication"},
		{name: "1001", kind: fault.Auth, why: "no key in the header"},
		{name: "1002", kind: fault.Auth, why: "the key is none"},
		{name: "1003", kind: fault.Auth, why: "the key has expired"},
		{name: "1004", kind: fault.Auth, why: "the key was not accepted"},
		{name: "1110", kind: fault.Refused, why: "the account is not active"},
		{name: "1111", kind: fault.Auth, why: "there is no such account"},
		{name: "1112", kind: fault.Refused, why: "the account is locked"},
		{name: "1113", kind: fault.Quota, why: "429, but the account has not paid"},
		{name: "1120", kind: fault.Unavailable, why: "the account cannot be read at the moment"},
		{name: "1121", kind: fault.Refused, why: "the account is locked over its content"},
		{name: "1210", kind: fault.Invalid, why: "a parameter"},
		{name: "1211", kind: fault.Invalid, why: "there is no such model"},
		{name: "1212", kind: fault.Invalid, why: "the model cannot be called like this"},
		{name: "1213", kind: fault.Invalid, why: "a parameter is missing"},
		{name: "1214", kind: fault.Invalid, why: "a parameter is wrong"},
		{name: "1215", kind: fault.Invalid, why: "parameters that exclude each other"},
		{name: "1220", kind: fault.Refused, why: "no permission for this API"},
		{name: "1221", kind: fault.Invalid, why: "the API is gone"},
		{name: "1222", kind: fault.Invalid, why: "there is no such API"},
		{name: "1234", kind: fault.Unavailable, why: "a network error of theirs"},
		{name: "1261", kind: fault.TooLong, why: "the prompt is too long"},
		{name: "1300", status: 400, kind: fault.Refused, why: "a policy of theirs; with 429 the number is Mistral's throttle"},
		{name: "1301", kind: fault.Refused, why: "the content filter"},
		{name: "1302", kind: fault.RateLimited, why: "too many calls at once, or in a minute"},
		{name: "1303", kind: fault.RateLimited, why: "too many calls in a minute"},
		{name: "1304", kind: fault.Quota, window: true, why: "the calls of the day are used up"},
		{name: "1305", kind: fault.Overloaded, why: "the model's load, whoever asks"},
		{name: "1308", kind: fault.Quota, window: true, why: "the plan's window of hours; the time when it opens has no zone"},
		{name: "1309", kind: fault.Quota, why: "the plan has ended"},
		{name: "1310", kind: fault.Quota, window: true, why: "the plan's week or month; the time when it opens has no zone"},
		{name: "1311", kind: fault.Refused, why: "the plan does not include the model"},
		{name: "1312", kind: fault.Overloaded, why: "the model's load, whoever asks"},
		{name: "1313", kind: fault.Refused, why: "the account is held back over fair use until somebody asks"},
	},
}

// chinese is what APIs and relays say in Chinese: Zhipu, MiniMax, Volcengine and
// the many that run one-api or new-api.
var chinese = table{
	vendor: "chinese",
	says: []row{
		{says: "余额不足", kind: fault.Quota, why: "the balance is too low"},
		{says: "欠费", kind: fault.Quota, why: "the account has not paid"},
		{says: "额度不足", kind: fault.Quota, why: "the quota is spent"},
		{says: "额度已用尽", kind: fault.Quota, why: "the quota is spent"},
		{says: "请充值", kind: fault.Quota, why: "asks for money"},
		{says: "今日调用次数", kind: fault.Quota, window: true, why: "the calls of the day"},
		{says: "使用上限", kind: fault.Quota, window: true, why: "the window of a plan"},
		{says: "套餐已到期", kind: fault.Quota, why: "the plan has ended"},
		{says: "上游负载已饱和", kind: fault.Overloaded, why: "the relay's providers are full"},
		{says: "访问量过大", kind: fault.Overloaded, why: "everybody's load"},
		{says: "繁忙", kind: fault.Overloaded, why: "busy"},
		{says: "负载过高", kind: fault.Overloaded, why: "high load"},
		{says: "限流", kind: fault.RateLimited, why: "throttled"},
		{says: "并发数过高", kind: fault.RateLimited, why: "too many calls at once"},
		{says: "频率过高", kind: fault.RateLimited, why: "too many calls in a minute"},
		{says: "速率限制", kind: fault.RateLimited, why: "a rate limit"},
		{says: "请求过于频繁", kind: fault.RateLimited, why: "too many calls in a minute"},
		{says: "敏感内容", kind: fault.Refused, why: "the content filter"},
		{says: "超长", kind: fault.TooLong, why: "too long"},
		{says: "模型不存在", kind: fault.Invalid, why: "there is no such model"},
		{says: "无效的令牌", kind: fault.Auth, why: "the key is none"},
		{says: "令牌已过期", kind: fault.Auth, why: "the key has expired"},
		{says: "身份验证失败", kind: fault.Auth, why: "no authentication"},
	},
}
