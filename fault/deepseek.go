package fault

// deepseek is DeepSeek's API. Source: api-docs.deepseek.com/quick_start/error_codes.
// Under load it does not refuse but waits, for up to ten minutes, with keepalives.
var deepseek = table{
	vendor: "deepseek",
	says: []row{
		{says: "insufficient balance", kind: Quota, why: "402, also as an invalid_request_error"},
		{says: "authentication fails", kind: Auth, why: "401"},
		{says: "model not exist", kind: Invalid, why: "400"},
		{says: "service is too busy", kind: Overloaded, why: "503"},
		{says: "no tool output found", kind: Invalid, why: "a tool call without its result"},
	},
}
