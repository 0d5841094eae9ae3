package classify

import "github.com/ridethrough/ridethrough/fault"

// openai is Chat Completions and Responses, and the many APIs that copy them.
// Source: platform.openai.com/docs/guides/error-codes and the Responses API's
// ResponseErrorCode; the texts are those that the API sends.
var openai = table{
	vendor: "openai",
	names: []row{
		{name: "rate_limit_exceeded", text: "request too large", kind: fault.Invalid, reason: "one request is larger than the budget of a minute"},
		{name: "tokens", text: "request too large", kind: fault.Invalid, reason: "one request is larger than the budget of a minute"},

		{name: "insufficient_quota", kind: fault.Quota, reason: "429, but the account is spent"},
		{name: "credit_balance_exhausted", kind: fault.Quota, reason: "429, but the account is spent"},
		{name: "organization_spend_limit_exceeded", kind: fault.Quota, reason: "the month's cap of the organization"},
		{name: "project_spend_limit_exceeded", kind: fault.Quota, reason: "the month's cap of the project"},
		{name: "organization_usage_limit_exceeded", kind: fault.Quota, reason: "the month's cap that OpenAI has set"},
		{name: "resource_unavailable", kind: fault.Overloaded, reason: "429: no capacity for the flex tier at the moment"},
		{name: "billing_hard_limit_reached", kind: fault.Quota, reason: "the spend cap that the account has set"},
		{name: "billing_not_active", kind: fault.Quota},
		{name: "quota_exceeded", kind: fault.Quota, window: true},
		{name: "usage_limit_reached", kind: fault.Quota, window: true, reason: "a subscription's window"},
		{name: "max_output_tokens", kind: fault.Invalid, reason: "an incomplete response: the limit that the request has set"},
		{name: "finish_reason content_filter", kind: fault.Refused, reason: "the answer was filtered"},
		{name: "usage_not_included", kind: fault.Refused, reason: "the plan does not include it"},

		{name: "context_length_exceeded", kind: fault.TooLong},
		{name: "string_above_max_length", kind: fault.TooLong},
		{name: "max_tokens_exceeded", kind: fault.TooLong},
		{name: "tokens_limit_reached", kind: fault.TooLong},
		{name: "exceed_context_size_error", kind: fault.TooLong},

		{name: "server_is_overloaded", kind: fault.Overloaded},
		{name: "engine_overloaded_error", kind: fault.Overloaded},
		{name: "service_unavailable_error", kind: fault.Overloaded},
		{name: "service_unavailable", kind: fault.Overloaded},
		{name: "slow_down", kind: fault.Overloaded, reason: "503: the traffic has grown too fast"},
		{name: "vector_store_timeout", kind: fault.UpstreamTimeout},

		{name: "invalid_api_key", kind: fault.Auth},
		{name: "invalid_organization", kind: fault.Auth},
		{name: "mismatched_organization", kind: fault.Auth},
		{name: "account_deactivated", kind: fault.Refused},
		{name: "unsupported_country_region_territory", kind: fault.Refused},
		{name: "content_filter", kind: fault.Refused},
		{name: "content_policy_violation", kind: fault.Refused},
		{name: "invalid_prompt", kind: fault.Refused, reason: "flagged under the usage policy"},
		{name: "image_content_policy_violation", kind: fault.Refused},
		{name: "cyber_policy_violation", kind: fault.Refused},

		{name: "model_not_found", kind: fault.Invalid},
		{name: "unsupported_file", kind: fault.Invalid},
		{name: "unsupported_value", kind: fault.Invalid},
		{name: "unsupported_parameter", kind: fault.Invalid},
		{name: "unknown_parameter", kind: fault.Invalid},
		{name: "missing_required_parameter", kind: fault.Invalid},
		{name: "invalid_type", kind: fault.Invalid},
		{name: "invalid_value", kind: fault.Invalid},
		{name: "invalid_json_schema", kind: fault.Invalid},
		{name: "invalid_function_parameters", kind: fault.Invalid},
		{name: "previous_response_not_found", kind: fault.Invalid},
	},
	broadNames: []row{
		{name: "rate_limit_exceeded", kind: fault.RateLimited},
		{name: "rate_limit_error", kind: fault.RateLimited},
		{name: "rate_limited", kind: fault.RateLimited},
		{name: "rate_limit_reached", kind: fault.RateLimited},
		{name: "too_many_requests", kind: fault.RateLimited},
		{name: "too_many_requests_error", kind: fault.RateLimited},
		{name: "requests", kind: fault.RateLimited, reason: "the type of a limit on requests"},
		{name: "tokens", kind: fault.RateLimited, reason: "the type of a limit on tokens"},
		{name: "insufficient_permissions", kind: fault.Refused},
	},
	weakNames: []row{
		{name: "server_error", kind: fault.Unavailable},
		{name: "internal_error", kind: fault.Unavailable},
		{name: "internal_server_error", kind: fault.Unavailable},
		{name: "invalid_request_error", kind: fault.Invalid},
		{name: "bad_request_error", kind: fault.Invalid},
	},
	texts: []row{
		{text: "not enough resources available to process this flex request", kind: fault.Overloaded, reason: "the flex tier has no capacity at the moment"},
		{text: "request too large for * tokens per", kind: fault.Invalid, reason: "one request is larger than the budget of a minute"},
		{text: "your account is not active, please check your billing", kind: fault.Quota},
		{text: "flagged as potentially violating our usage policy", kind: fault.Refused},
	},
}
