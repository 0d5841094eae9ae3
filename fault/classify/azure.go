package classify

import "github.com/ridethrough/ridethrough/fault"

// azure is Azure OpenAI and AI Foundry, with Azure's API management before them. Sources: learn.microsoft.com
// on content filtering, on quotas and on 429s. Most of their errors are OpenAI's.
var azure = table{
	vendor: "azure",
	names: []row{
		{name: "DeploymentNotFound", kind: fault.Invalid, reason: "asks to wait, but only for a deployment less than five minutes old"},
		{name: "ResponsibleAIPolicyViolation", kind: fault.Refused, reason: "the inner error of a content filter"},
		{name: "ContentFilteredError", kind: fault.Refused, reason: "the content filter"},
		{name: "NoCapacity", kind: fault.Overloaded, reason: "the region has no capacity left"},
		{name: "OperationNotSupported", kind: fault.Invalid, reason: "the deployment cannot do this"},
		{name: "SubscriptionDisabled", kind: fault.Refused, reason: "the subscription is switched off"},
		{name: "InvalidSubscriptionKey", kind: fault.Auth, reason: "the key belongs to another resource"},
	},
	broadNames: []row{
		{name: "DeploymentThrottled", kind: fault.RateLimited, reason: "the deployment's own limit"},
	},
	texts: []row{
		{text: "retry after 86400 seconds", kind: fault.Invalid, reason: "Azure's way to say: larger than the budget of a minute"},
		{text: "out of call volume quota", kind: fault.Quota, window: true, reason: "API management: the window of the subscription"},
		{text: "invalid subscription key", kind: fault.Auth, reason: "stated with 401, and as access denied"},
		{text: "exceeded * rate limit of your current", kind: fault.RateLimited, reason: "the tier's limit of a minute"},
		{text: "experiencing high demand", kind: fault.Overloaded, reason: "429, but the region's capacity and no limit of ours"},
		{text: "temporarily unable to process your request", kind: fault.Overloaded, reason: "the region's capacity"},
		{text: "temporarily blocked because we detected", kind: fault.Refused, reason: "behaviour against the policy: a human has to look at it"},
		{text: "content management policy", kind: fault.Refused, reason: "the content filter"},
		{text: "virtual network/firewall rules", kind: fault.Refused, reason: "the resource is closed to this network"},
	},
}
