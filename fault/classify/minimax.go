package classify

import "github.com/ridethrough/ridethrough/fault"

// minimax is MiniMax's API: numbers in base_resp.status_code, often inside a 200,
// and in brackets behind the sentence of its Anthropic form.
// Source: platform.minimax.io/docs/api-reference/errorcode.
var minimax = table{
	vendor: "minimax",
	names: []row{
		{name: "status_code 1000", kind: fault.Unavailable, why: "unknown to them, too: they ask to try again"},
		{name: "status_code 1001", kind: fault.UpstreamTimeout, why: "the request took too long"},
		{name: "status_code 1002", kind: fault.RateLimited, why: "requests in a minute"},
		{name: "status_code 1004", kind: fault.Auth, why: "the key was not accepted"},
		{name: "status_code 1008", kind: fault.Quota, why: "the balance is too low"},
		{name: "status_code 1013", kind: fault.Unavailable, why: "an internal error"},
		{name: "status_code 1024", kind: fault.Unavailable, why: "an internal error"},
		{name: "status_code 1026", kind: fault.Refused, why: "the content filter, of the input"},
		{name: "status_code 1027", kind: fault.Refused, why: "the content filter, of the answer"},
		{name: "status_code 1033", kind: fault.Unavailable, why: "an error further back"},
		{name: "status_code 1039", kind: fault.RateLimited, why: "tokens in a minute"},
		{name: "status_code 1041", kind: fault.RateLimited, why: "connections at once"},
		{name: "status_code 1042", kind: fault.Invalid, why: "too many invisible characters"},
		{name: "status_code 2013", kind: fault.Invalid, why: "a parameter"},
		{name: "status_code 2045", kind: fault.RateLimited, why: "the traffic has grown too fast"},
		{name: "status_code 2049", kind: fault.Auth, why: "the key is none"},
		{name: "status_code 2056", kind: fault.Quota, window: true, why: "the plan's window of hours"},
		{name: "status_code 2061", kind: fault.Refused, why: "the plan does not include the model"},
		{name: "status_code 2064", kind: fault.Overloaded, why: "everybody's load"},
	},
	says: []row{
		{says: "1008)", kind: fault.Quota, why: "the number of an empty balance"},
		{says: "2056)", kind: fault.Quota, window: true, why: "the number of the plan's window of hours"},
		{says: "2061)", kind: fault.Refused, why: "the number of a model outside the plan"},
		{says: "2064)", kind: fault.Overloaded, why: "the number of everybody's load"},
		{says: "1002)", kind: fault.RateLimited, why: "the number of requests in a minute"},
		{says: "system error (1033)", kind: fault.Unavailable, why: "an error further back"},
	},
}
