package classify

import "github.com/ridethrough/ridethrough/fault"

// deepseek is DeepSeek's API. Source: api-docs.deepseek.com/quick_start/error_codes.
// Under load it does not refuse but waits, for up to ten minutes, with keepalives.
var deepseek = table{
	vendor: "deepseek",
	texts: []row{
		{text: "insufficient balance", kind: fault.Quota, reason: "402, also as an invalid_request_error"},
		{text: "authentication fails", kind: fault.Auth, reason: "401"},
		{text: "model not exist", kind: fault.Invalid, reason: "400"},
		{text: "service is too busy", kind: fault.Overloaded, reason: "503"},
		{text: "no tool output found", kind: fault.Invalid, reason: "a tool call without its result"},
	},
}
