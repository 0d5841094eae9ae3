package classify

import "github.com/ridethrough/ridethrough/fault"

// groq is Groq's API. Source: console.groq.com/docs/errors, /docs/rate-limits and
// /docs/flex-processing.
var groq = table{
	vendor: "groq",
	names: []row{
		{name: "capacity_exceeded", kind: fault.Overloaded, why: "498: the flex tier has no capacity at the moment"},
		{name: "tool_use_failed", kind: fault.Unknown, why: "400, but a mishap of sampling: the next sample may be well-formed"},
		{name: "json_validate_failed", kind: fault.Unknown, why: "400, but a mishap of sampling: the next sample may be well-formed"},
		{name: "output_parse_failed", kind: fault.Unknown, why: "400, but a mishap of sampling: the next sample may be well-formed"},
		{name: "organization_restricted", kind: fault.Refused, why: "a human has to be asked"},
		{name: "blocked_api_access", kind: fault.Quota, why: "the spend limit that the organisation has set"},
		{name: "model_terms_required", kind: fault.Refused, why: "the terms of the model have to be accepted"},
		{name: "model_decommissioned", kind: fault.Invalid, why: "the model is gone"},
		{name: "model_not_active", kind: fault.Invalid, why: "the model is switched off"},
		{name: "model_permission_blocked_org", kind: fault.Refused, why: "the organisation has blocked the model"},
		{name: "model_permission_blocked_project", kind: fault.Refused, why: "the project has blocked the model"},
	},
	says: []row{
		{says: "flex tier capacity exceeded", kind: fault.Overloaded, why: "498: the flex tier has no capacity at the moment"},
		{says: "spend limit was reached", kind: fault.Quota, why: "the limit that the organisation has set"},
	},
}
