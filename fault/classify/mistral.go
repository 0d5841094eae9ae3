package classify

import "github.com/ridethrough/ridethrough/fault"

// mistral is Mistral's API. Its errors have a type and a number of four digits.
// Sources: docs.mistral.ai/resources/error-glossary and the bodies that it sends.
var mistral = table{
	vendor: "mistral",
	shape:  func(l Layer) bool { return l.Type != "" },
	names: []row{
		{name: "service_tier_capacity_exceeded", kind: fault.Overloaded, reason: "429, but the capacity of the tier, not of the account"},
		{name: "3505", kind: fault.Overloaded, reason: "the number of service_tier_capacity_exceeded"},
		{name: "unreachable_backend", kind: fault.Unavailable, reason: "its gateway has lost the model"},
		{name: "internal_server_proxy", kind: fault.Unavailable, reason: "its gateway has lost the model"},
		{name: "unknown_model", kind: fault.Invalid, reason: "there is no such model"},
		{name: "invalid_model", kind: fault.Invalid, reason: "there is no such model"},
		{name: "invalid_request_message_order", kind: fault.Invalid, reason: "the roles of the messages"},
		{name: "invalid_request_prompt", kind: fault.Invalid, reason: "the prompt's form"},
	},
	texts: []row{
		{text: "service tier capacity exceeded", kind: fault.Overloaded, reason: "also as an invalid_request_error with 429"},
		{text: "inactive subscription", kind: fault.Quota, reason: "the plan has to be paid first"},
		{text: "too large for model with", kind: fault.TooLong, reason: "the context window"},
	},
}
