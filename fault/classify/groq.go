package classify

import "github.com/ridethrough/ridethrough/fault"

// groq is Groq's API. Source: console.groq.com/docs/errors, /docs/rate-limits and /docs/flex-processing.
var groq = table{
	vendor: "groq",
	names: []row{
		{name: "capacity_exceeded", kind: fault.Overloaded, reason: "498: the flex tier has no capacity at the moment"},
		{name: "tool_use_failed", kind: fault.Unknown, reason: "400, but a mishap of sampling: the next sample may be well-formed"},
		{name: "json_validate_failed", kind: fault.Unknown, reason: "400, but a mishap of sampling: the next sample may be well-formed"},
		{name: "output_parse_failed", kind: fault.Unknown, reason: "400, but a mishap of sampling: the next sample may be well-formed"},
		{name: "organization_restricted", kind: fault.Refused, reason: "a human has to be asked"},
		{name: "blocked_api_access", kind: fault.Quota, reason: "the spend limit that the organization has set"},
		{name: "model_terms_required", kind: fault.Refused, reason: "the terms of the model have to be accepted"},
		{name: "model_decommissioned", kind: fault.Invalid, reason: "the model is gone"},
		{name: "model_not_active", kind: fault.Invalid, reason: "the model is switched off"},
		{name: "model_permission_blocked_org", kind: fault.Refused, reason: "the organization has blocked the model"},
		{name: "model_permission_blocked_project", kind: fault.Refused, reason: "the project has blocked the model"},
	},
	texts: []row{
		{text: "flex tier capacity exceeded", kind: fault.Overloaded, reason: "498: the flex tier has no capacity at the moment"},
		{text: "spend limit was reached", kind: fault.Quota, reason: "the limit that the organization has set"},
	},
}
