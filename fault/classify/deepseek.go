package classify

import "github.com/ridethrough/ridethrough/fault"

// deepseek is DeepSeek's API. Source: api-docs.deepseek.com/quick_start/error_codes.
// Under load it does not refuse but waits, for up to ten minutes, with keepalives.
var deepseek = table{
	vendor: "deepseek",
	says: []row{
		{says: "insufficient balance", kind: fault.Quota, why: "402, also as an invalid_request_error"},
		{says: "authentication fails", kind: fault.Auth, why: "401"},
		{says: "model not exist", kind: fault.Invalid, why: "400"},
		{says: "service is too busy", kind: fault.Overloaded, why: "503"},
		{says: "no tool output found", kind: fault.Invalid, why: "a tool call without its result"},
	},
}
