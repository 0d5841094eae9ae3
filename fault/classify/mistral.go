package classify

import "github.com/ridethrough/ridethrough/fault"

// mistral is Mistral's API. Its errors have a type and a number of four digits.
// Sources: docs.mistral.ai/resources/error-glossary and the bodies that it sends.
var mistral = table{
	vendor: "mistral",
	names: []row{
		{name: "service_tier_capacity_exceeded", kind: fault.Overloaded, why: "429, but the capacity of the tier, whoever asks"},
		{name: "3505", kind: fault.Overloaded, why: "the number of service_tier_capacity_exceeded"},
		{name: "unreachable_backend", kind: fault.Unavailable, why: "its gateway has lost the model"},
		{name: "internal_server_proxy", kind: fault.Unavailable, why: "its gateway has lost the model"},
		{name: "unknown_model", kind: fault.Invalid, why: "there is no such model"},
		{name: "invalid_model", kind: fault.Invalid, why: "there is no such model"},
		{name: "invalid_request_message_order", kind: fault.Invalid, why: "the roles of the messages"},
		{name: "invalid_request_prompt", kind: fault.Invalid, why: "the prompt's form"},
	},
	says: []row{
		{says: "service tier capacity exceeded", kind: fault.Overloaded, why: "also as an invalid_request_error with 429"},
		{says: "inactive subscription", kind: fault.Quota, why: "the plan has to be paid first"},
		{says: "too large for model with", kind: fault.TooLong, why: "the context window"},
	},
}
