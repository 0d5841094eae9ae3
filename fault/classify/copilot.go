package classify

import "github.com/ridethrough/ridethrough/fault"

// copilot is GitHub Copilot and GitHub Models. Their limits say how long to wait,
// or nothing. Source: the reports in github/copilot-cli and
// microsoft/vscode-copilot-release.
var copilot = table{
	vendor: "copilot",
	names: []row{
		{name: "user_weekly_rate_limited", kind: fault.Quota, window: true, why: "the window of a week"},
		{name: "agent_mode_limit_exceeded", kind: fault.RateLimited, why: "a window of the agent's, without a name"},
		{name: "model_max_prompt_tokens_exceeded", kind: fault.TooLong, why: "the context window"},
		{name: "model_not_supported", kind: fault.Invalid, why: "the plan or the editor does not have the model"},
		{name: "unsupported_api_for_model", kind: fault.Invalid, why: "the model speaks another API"},
		{name: "off_topic", kind: fault.Refused, why: "not about code"},
	},
	family: []row{
		{name: "user_global_rate_limited", kind: fault.RateLimited, why: "it says how long, and sometimes that is days"},
		{name: "user_model_rate_limited", kind: fault.RateLimited, why: "it says how long, and sometimes that is days"},
		{name: "integration_rate_limited", kind: fault.RateLimited, why: "the limit of the program, not of the user"},
		{name: "model_overloaded", kind: fault.Overloaded, why: "the model's capacity"},
	},
	says: []row{
		{says: "exhausted this model's rate limit", kind: fault.RateLimited, why: "it sounds spent, and lasts a moment"},
		{says: "exceeded your copilot token usage", kind: fault.RateLimited, why: "it sounds spent, and lasts a moment"},
		{says: "exhausted your premium model quota", kind: fault.Quota, why: "the requests of the month"},
		{says: "exceeded your premium request allowance", kind: fault.Quota, why: "the requests of the month"},
		{says: "prompt token count of * exceeds the limit of", kind: fault.TooLong, why: "the context window"},
		{says: "you have no quota", kind: fault.Quota, why: "402: the plan has none"},
	},
}
