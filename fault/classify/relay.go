package classify

import "github.com/ridethrough/ridethrough/fault"

// relay is what stands between a program and a provider: LiteLLM, Portkey,
// one-api and the SDKs, whose class names are all that some programs keep of an
// error. Sources: docs.litellm.ai/docs/exception_mapping and
// /docs/proxy/error_reference, and the errors of the official SDKs.
var relay = table{
	vendor: "relay",
	names: []row{
		{name: "ContextWindowExceededError", kind: fault.TooLong, why: "LiteLLM's class for it, whatever the status"},
		{name: "ContentPolicyViolationError", kind: fault.Refused, why: "LiteLLM's class for it"},
		{name: "BudgetExceededError", kind: fault.Quota, why: "the budget of a LiteLLM key"},
		{name: "budget_exceeded", kind: fault.Quota, why: "the budget of a LiteLLM key, with 400 or 429"},
		{name: "expired_key", kind: fault.Auth, why: "a LiteLLM key"},
		{name: "token_not_found_in_db", kind: fault.Auth, why: "a LiteLLM key"},
		{name: "key_model_access_denied", kind: fault.Refused, why: "the key may not use the model"},
		{name: "team_model_access_denied", kind: fault.Refused, why: "the team may not use the model"},
		{name: "UnsupportedParamsError", kind: fault.Invalid, why: "LiteLLM's class for it"},
		{name: "no_db_connection", kind: fault.Unavailable, why: "LiteLLM has lost its database"},
		{name: "hooks_failed", kind: fault.Refused, why: "446: a guardrail of Portkey's"},
		{name: "insufficient_user_quota", kind: fault.Quota, why: "one-api: the user's quota is spent"},
		{name: "pre_consume_token_quota_failed", kind: fault.Quota, why: "one-api: the key's quota is spent"},
		{name: "insufficient_credit", kind: fault.Quota, why: "ZenMux: the account is spent"},
		{name: "reject_no_credit", kind: fault.Quota, why: "ZenMux: the account is spent"},
		{name: "no_provider_available", kind: fault.Overloaded, why: "ZenMux: no provider is up"},
		{name: "circuit_open", kind: fault.Overloaded, why: "the relay has stopped asking for a while"},
	},
	family: []row{
		{name: "throttling_error", kind: fault.RateLimited, why: "LiteLLM's word for a 429"},
		{name: "rate_limit", kind: fault.RateLimited, why: "a relay's word for a 429"},
		{name: "PermissionDeniedError", kind: fault.Refused, why: "an SDK's class for 403"},
		{name: "APIConnectionError", kind: fault.Unavailable, why: "an SDK's class for no answer"},
	},
	vague: []row{
		{name: "UnprocessableEntityError", kind: fault.Invalid, why: "an SDK's class for 422"},
		{name: "upstream_error", kind: fault.Unavailable, why: "a relay's word for a failure behind it"},
		{name: "provider_error", kind: fault.Unavailable, why: "a relay's word for a failure behind it"},
	},
	says: []row{
		{says: "budget has been exceeded", kind: fault.Quota, why: "the budget of a LiteLLM key"},
		{says: "over budget", kind: fault.Quota, why: "the budget of a LiteLLM key or team"},
		{says: "crossed budget", kind: fault.Quota, why: "the budget of a LiteLLM deployment"},
		{says: "no deployments available", kind: fault.Overloaded, why: "LiteLLM lets all of them cool down, and says how long"},
		{says: "max parallel request limit", kind: fault.RateLimited, why: "calls under way: they end"},
		{says: "max parallel requests", kind: fault.RateLimited, why: "calls under way: they end"},
		{says: "circuit breaker is open", kind: fault.Overloaded, why: "the relay has stopped asking for a while"},
		{says: "guardrail", kind: fault.Refused, why: "a check of the relay's forbids it"},
	},
}
