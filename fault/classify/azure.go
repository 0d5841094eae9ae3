package classify

import "github.com/ridethrough/ridethrough/fault"

// azure is Azure OpenAI and AI Foundry, with Azure's API management before them.
// Sources: learn.microsoft.com on content filtering, on quotas and on 429s.
// Most of their errors are OpenAI's.
var azure = table{
	vendor: "azure",
	names: []row{
		{name: "DeploymentNotFound", kind: fault.Invalid, why: "says to wait, but only if the deployment is five minutes young"},
		{name: "ResponsibleAIPolicyViolation", kind: fault.Refused, why: "the inner error of a content filter"},
		{name: "ContentFilteredError", kind: fault.Refused, why: "the content filter"},
		{name: "NoCapacity", kind: fault.Overloaded, why: "the region has no capacity left"},
		{name: "OperationNotSupported", kind: fault.Invalid, why: "the deployment cannot do this"},
		{name: "SubscriptionDisabled", kind: fault.Refused, why: "the subscription is switched off"},
		{name: "InvalidSubscriptionKey", kind: fault.Auth, why: "the key belongs to another resource"},
	},
	family: []row{
		{name: "DeploymentThrottled", kind: fault.RateLimited, why: "the deployment's own limit"},
	},
	says: []row{
		{says: "retry after 86400 seconds", kind: fault.Invalid, why: "Azure's way to say: larger than the budget of a minute"},
		{says: "out of call volume quota", kind: fault.Quota, window: true, why: "API management: the window of the subscription"},
		{says: "invalid subscription key", kind: fault.Auth, why: "stated with 401, and as access denied"},
		{says: "exceeded * rate limit of your current", kind: fault.RateLimited, why: "the tier's limit of a minute"},
		{says: "experiencing high demand", kind: fault.Overloaded, why: "429, but the region's capacity and no limit of ours"},
		{says: "temporarily unable to process your request", kind: fault.Overloaded, why: "the region's capacity"},
		{says: "temporarily blocked because we detected", kind: fault.Refused, why: "behaviour against the policy: a human has to look at it"},
		{says: "content management policy", kind: fault.Refused, why: "the content filter"},
		{says: "virtual network/firewall rules", kind: fault.Refused, why: "the resource is closed to this network"},
	},
}
