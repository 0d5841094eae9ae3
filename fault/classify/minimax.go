package classify

import (
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// minimax is MiniMax's API: numbers in base_resp.status_code, often inside a 200, and in brackets behind the
// sentence of its Anthropic form. Source: platform.minimax.io/docs/api-reference/errorcode.
var minimax = table{
	vendor: "minimax",
	shape:  func(l Layer) bool { return strings.HasSuffix(strings.TrimSpace(l.Message), ")") },
	names: []row{
		{name: "status_code 1000", kind: fault.Unavailable, reason: "unknown to them, too: they ask to try again"},
		{name: "status_code 1001", kind: fault.UpstreamTimeout, reason: "the request took too long"},
		{name: "status_code 1002", kind: fault.RateLimited, reason: "requests in a minute"},
		{name: "status_code 1004", kind: fault.Auth, reason: "the key was not accepted"},
		{name: "status_code 1008", kind: fault.Quota, reason: "the balance is too low"},
		{name: "status_code 1013", kind: fault.Unavailable, reason: "an internal error"},
		{name: "status_code 1024", kind: fault.Unavailable, reason: "an internal error"},
		{name: "status_code 1026", kind: fault.Refused, reason: "the content filter, of the input"},
		{name: "status_code 1027", kind: fault.Refused, reason: "the content filter, of the answer"},
		{name: "status_code 1033", kind: fault.Unavailable, reason: "an error further back"},
		{name: "status_code 1039", kind: fault.RateLimited, reason: "tokens in a minute"},
		{name: "status_code 1041", kind: fault.RateLimited, reason: "connections at once"},
		{name: "status_code 1042", kind: fault.Invalid, reason: "too many invisible characters"},
		{name: "status_code 2013", kind: fault.Invalid, reason: "a parameter"},
		{name: "status_code 2045", kind: fault.RateLimited, reason: "the traffic has grown too fast"},
		{name: "status_code 2049", kind: fault.Auth, reason: "the key is none"},
		{name: "status_code 2056", kind: fault.Quota, window: true, reason: "the plan's window of hours"},
		{name: "status_code 2061", kind: fault.Refused, reason: "the plan does not include the model"},
		{name: "status_code 2064", kind: fault.Overloaded, reason: "everybody's load"},
	},
	texts: []row{
		{text: "1008)", kind: fault.Quota, reason: "the number of an empty balance"},
		{text: "2056)", kind: fault.Quota, window: true, reason: "the number of the plan's window of hours"},
		{text: "2061)", kind: fault.Refused, reason: "the number of a model outside the plan"},
		{text: "2064)", kind: fault.Overloaded, reason: "the number of everybody's load"},
		{text: "1002)", kind: fault.RateLimited, reason: "the number of requests in a minute"},
		{text: "system error (1033)", kind: fault.Unavailable, reason: "an error further back"},
	},
}
