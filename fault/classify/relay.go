package classify

import "github.com/ridethrough/ridethrough/fault"

// relay is the proxies between a program and a provider: LiteLLM, Portkey, one-api and the SDKs, whose class
// names are all that some programs keep of an error. Sources: docs.litellm.ai/docs/exception_mapping and
// /docs/proxy/error_reference, and the errors of the official SDKs.
var relay = table{
	vendor: "relay",
	names: []row{
		{name: "ContextWindowExceededError", kind: fault.TooLong, reason: "LiteLLM's class for it, whatever the status"},
		{name: "ContentPolicyViolationError", kind: fault.Refused, reason: "LiteLLM's class for it"},
		{name: "BudgetExceededError", kind: fault.Quota, reason: "the budget of a LiteLLM key"},
		{name: "budget_exceeded", kind: fault.Quota, reason: "the budget of a LiteLLM key, with 400 or 429"},
		{name: "expired_key", kind: fault.Auth, reason: "a LiteLLM key"},
		{name: "token_not_found_in_db", kind: fault.Auth, reason: "a LiteLLM key"},
		{name: "key_model_access_denied", kind: fault.Refused, reason: "the key may not use the model"},
		{name: "team_model_access_denied", kind: fault.Refused, reason: "the team may not use the model"},
		{name: "UnsupportedParamsError", kind: fault.Invalid, reason: "LiteLLM's class for it"},
		{name: "no_db_connection", kind: fault.Unavailable, reason: "LiteLLM has lost its database"},
		{name: "hooks_failed", kind: fault.Refused, reason: "446: a guardrail of Portkey's"},
		{name: "insufficient_user_quota", kind: fault.Quota, reason: "one-api: the user's quota is spent"},
		{name: "pre_consume_token_quota_failed", kind: fault.Quota, reason: "one-api: the key's quota is spent"},
		{name: "insufficient_credit", kind: fault.Quota, reason: "ZenMux: the account is spent"},
		{name: "reject_no_credit", kind: fault.Quota, reason: "ZenMux: the account is spent"},
		{name: "no_provider_available", kind: fault.Overloaded, reason: "ZenMux: no provider is up"},
		{name: "channel:response_time_exceeded", kind: fault.UpstreamTimeout, reason: "new-api: the provider was too slow"},
		{name: "channel:no_available_key", kind: fault.Overloaded, reason: "new-api: all keys of the provider rest"},
		{name: "get_channel_failed", kind: fault.Overloaded, reason: "new-api: no provider is up"},
		{name: "sensitive_words_detected", kind: fault.Refused, reason: "new-api: its own filter"},
		{name: "err_rate_limited", kind: fault.RateLimited, reason: "400 of a relay"},
		{name: "api_rate_limit", kind: fault.RateLimited, reason: "417 of a relay"},
		{name: "circuit_open", kind: fault.Overloaded, reason: "the relay has stopped asking for a while"},
	},
	broadNames: []row{
		{name: "throttling_error", kind: fault.RateLimited, reason: "LiteLLM's word for a 429"},
		{name: "rate_limit", kind: fault.RateLimited, reason: "a relay's word for a 429"},
		{name: "PermissionDeniedError", kind: fault.Refused, reason: "an SDK's class for 403"},
		{name: "APIConnectionError", kind: fault.Unavailable, reason: "an SDK's class for no answer"},
	},
	weakNames: []row{
		{name: "UnprocessableEntityError", kind: fault.Invalid, reason: "an SDK's class for 422"},
		{name: "upstream_error", kind: fault.Unavailable, reason: "a relay's word for a failure behind it"},
		{name: "provider_error", kind: fault.Unavailable, reason: "a relay's word for a failure behind it"},
	},
	texts: []row{
		{text: "budget has been exceeded", kind: fault.Quota, reason: "the budget of a LiteLLM key"},
		{text: "over budget", kind: fault.Quota, reason: "the budget of a LiteLLM key or team"},
		{text: "crossed budget", kind: fault.Quota, reason: "the budget of a LiteLLM deployment"},
		{text: "no deployments available", kind: fault.Overloaded, reason: "LiteLLM's cooldown of all deployments, with a stated wait"},
		{text: "max parallel request limit", kind: fault.RateLimited, reason: "calls in progress, which end"},
		{text: "max parallel requests", kind: fault.RateLimited, reason: "calls in progress, which end"},
		{text: "circuit breaker is open", kind: fault.Overloaded, reason: "the relay has stopped asking for a while"},
		{text: "guardrail", kind: fault.Refused, reason: "a check of the relay's forbids it", sure: topic},
		{text: "incorrect model id. please request to view the model page", kind: fault.Invalid, reason: "503, but there is no such model"},
	},
}
