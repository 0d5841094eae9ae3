package classify

import "github.com/ridethrough/ridethrough/fault"

// copilot is GitHub Copilot and GitHub Models. Their limits say how long to wait, or nothing. Source: the
// reports in github/copilot-cli and microsoft/vscode-copilot-release.
var copilot = table{
	vendor: "copilot",
	names: []row{
		{name: "user_weekly_rate_limited", kind: fault.Quota, window: true, reason: "the window of a week"},
		{name: "agent_mode_limit_exceeded", kind: fault.RateLimited, reason: "a window of the agent's, without a name"},
		{name: "model_max_prompt_tokens_exceeded", kind: fault.TooLong, reason: "the context window"},
		{name: "model_not_supported", kind: fault.Invalid, reason: "the plan or the editor does not have the model"},
		{name: "unsupported_api_for_model", kind: fault.Invalid, reason: "the model speaks another API"},
		{name: "off_topic", kind: fault.Refused, reason: "not about code"},
	},
	broadNames: []row{
		{name: "user_global_rate_limited", kind: fault.RateLimited, reason: "states its wait, sometimes days"},
		{name: "user_model_rate_limited", kind: fault.RateLimited, reason: "states its wait, sometimes days"},
		{name: "integration_rate_limited", kind: fault.RateLimited, reason: "the limit of the program, not of the user"},
		{name: "model_overloaded", kind: fault.Overloaded, reason: "the model's capacity"},
	},
	texts: []row{
		{text: "exhausted this model's rate limit", kind: fault.RateLimited, reason: "it sounds spent, and lasts a moment"},
		{text: "exceeded your copilot token usage", kind: fault.RateLimited, reason: "it sounds spent, and lasts a moment"},
		{text: "exhausted your premium model quota", kind: fault.Quota, reason: "the requests of the month"},
		{text: "exceeded your premium request allowance", kind: fault.Quota, reason: "the requests of the month"},
		{text: "prompt token count of * exceeds the limit of", kind: fault.TooLong, reason: "the context window"},
		{text: "you have no quota", kind: fault.Quota, reason: "402: the plan has none"},
	},
}
