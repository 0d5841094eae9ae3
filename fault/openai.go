package fault

// openai is Chat Completions and Responses, and the many APIs that copy them.
// Source: platform.openai.com/docs/guides/error-codes and the Responses API's
// ResponseErrorCode; the sentences are those that the API sends.
var openai = table{
	vendor: "openai",
	names: []row{
		{name: "rate_limit_exceeded", says: "request too large", kind: Invalid, why: "one request is larger than the budget of a minute"},
		{name: "tokens", says: "request too large", kind: Invalid, why: "one request is larger than the budget of a minute"},

		{name: "insufficient_quota", kind: Quota, why: "429, but the account is spent"},
		{name: "billing_hard_limit_reached", kind: Quota, why: "the spend cap that the account has set"},
		{name: "billing_not_active", kind: Quota},
		{name: "quota_exceeded", kind: Quota, window: true},
		{name: "usage_limit_reached", kind: Quota, window: true, why: "a subscription's window"},
		{name: "usage_not_included", kind: Refused, why: "the plan does not include it"},

		{name: "context_length_exceeded", kind: TooLong},
		{name: "string_above_max_length", kind: TooLong},
		{name: "max_tokens_exceeded", kind: TooLong},
		{name: "tokens_limit_reached", kind: TooLong},
		{name: "exceed_context_size_error", kind: TooLong},

		{name: "server_is_overloaded", kind: Overloaded},
		{name: "engine_overloaded_error", kind: Overloaded},
		{name: "service_unavailable_error", kind: Overloaded},
		{name: "service_unavailable", kind: Overloaded},
		{name: "slow_down", kind: Overloaded, why: "503: the traffic has grown too fast"},
		{name: "vector_store_timeout", kind: UpstreamTimeout},

		{name: "invalid_api_key", kind: Auth},
		{name: "invalid_organization", kind: Auth},
		{name: "mismatched_organization", kind: Auth},
		{name: "account_deactivated", kind: Refused},
		{name: "unsupported_country_region_territory", kind: Refused},
		{name: "content_filter", kind: Refused},
		{name: "content_policy_violation", kind: Refused},
		{name: "invalid_prompt", kind: Refused, why: "flagged under the usage policy"},
		{name: "image_content_policy_violation", kind: Refused},
		{name: "cyber_policy_violation", kind: Refused},

		{name: "model_not_found", kind: Invalid},
		{name: "unsupported_file", kind: Invalid},
		{name: "unsupported_value", kind: Invalid},
		{name: "unsupported_parameter", kind: Invalid},
		{name: "unknown_parameter", kind: Invalid},
		{name: "missing_required_parameter", kind: Invalid},
		{name: "invalid_type", kind: Invalid},
		{name: "invalid_value", kind: Invalid},
		{name: "invalid_json_schema", kind: Invalid},
		{name: "invalid_function_parameters", kind: Invalid},
		{name: "previous_response_not_found", kind: Invalid},
	},
	family: []row{
		{name: "rate_limit_exceeded", kind: RateLimited},
		{name: "rate_limit_error", kind: RateLimited},
		{name: "rate_limited", kind: RateLimited},
		{name: "rate_limit_reached", kind: RateLimited},
		{name: "too_many_requests", kind: RateLimited},
		{name: "too_many_requests_error", kind: RateLimited},
		{name: "requests", kind: RateLimited, why: "the type of a limit on requests"},
		{name: "tokens", kind: RateLimited, why: "the type of a limit on tokens"},
		{name: "insufficient_permissions", kind: Refused},
	},
	vague: []row{
		{name: "server_error", kind: Unavailable},
		{name: "internal_error", kind: Unavailable},
		{name: "internal_server_error", kind: Unavailable},
		{name: "invalid_request_error", kind: Invalid},
		{name: "bad_request_error", kind: Invalid},
	},
	says: []row{
		{says: "request too large for * tokens per", kind: Invalid, why: "one request is larger than the budget of a minute"},
		{says: "your account is not active, please check your billing", kind: Quota},
		{says: "flagged as potentially violating our usage policy", kind: Refused},
	},
}
