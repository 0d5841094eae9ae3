package classify

import (
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// workersAI is Cloudflare's Workers AI, whose codes are numbers.
// Source: developers.cloudflare.com/workers-ai/platform/errors.
var workersAI = table{
	vendor: "workers-ai",
	shape:  func(l Layer) bool { return l.within == "errors" && l.Type == "" },
	names: []row{
		{name: "3006", kind: fault.TooLong, reason: "bytes"},
		{name: "3007", kind: fault.UpstreamTimeout, reason: "the model took too long"},
		{name: "3008", kind: fault.Unavailable, reason: "the call was broken off over there"},
		{name: "3023", kind: fault.Refused, reason: "the account is blocked, though the text is unavailable"},
		{name: "3036", kind: fault.Quota, window: true, reason: "the free allocation of the day"},
		{name: "4006", kind: fault.Quota, window: true, reason: "the free allocation of the day"},
		{name: "3039", kind: fault.Invalid, reason: "a finetune without its files"},
		{name: "3040", kind: fault.Overloaded, reason: "no data centre has capacity left"},
		{name: "3041", kind: fault.Refused, reason: "the account may not use the model"},
		{name: "3042", kind: fault.Invalid, reason: "there is no such model"},
		{name: "5007", kind: fault.Invalid, reason: "there is no such model"},
		{name: "5016", kind: fault.Refused, reason: "the terms of the model have to be accepted"},
		{name: "5018", kind: fault.Refused, reason: "the account may not use the model"},
	},
	texts: []row{
		{text: "service unavailable for account", kind: fault.Refused, reason: "the account is blocked"},
		{text: "no more data centers to forward the request to", kind: fault.Overloaded, reason: "no data centre has capacity left"},
		{text: "capacity temporarily exceeded", kind: fault.Overloaded, reason: "no data centre has capacity left"},
	},
}

// cloudflare is Cloudflare's own answers in place of an origin's, as a page or as
// the line "error code: 1020". Source: developers.cloudflare.com on 1xxx errors.
var cloudflare = table{
	vendor: "cloudflare",
	shape:  isCloudflares,
	texts: []row{
		{text: "Just a moment...", kind: fault.Refused, reason: "it wants a browser"},
		{text: "Attention Required! | Cloudflare", kind: fault.Refused, reason: "it blocks the caller"},
		{text: "Sorry, you have been blocked", kind: fault.Refused, reason: "it blocks the caller"},
		{text: "Enable JavaScript and cookies to continue", kind: fault.Refused, reason: "it wants a browser"},
		{text: "Checking your browser before accessing", kind: fault.Refused, reason: "it wants a browser"},
		{text: "Access denied * used Cloudflare to restrict access", kind: fault.Refused, reason: "1020 and its kin"},
		{text: "You are being rate limited", kind: fault.RateLimited, reason: "1015"},
		{text: "error code: 1000", kind: fault.Invalid, reason: "the name leads to a forbidden address"},
		{text: "error code: 1001", kind: fault.Unavailable, reason: "the name cannot be resolved"},
		{text: "error code: 1003", kind: fault.Invalid, reason: "an address where a name is wanted"},
		{text: "error code: 1005", kind: fault.Refused, reason: "the caller's network is banned"},
		{text: "error code: 1006", kind: fault.Refused, reason: "the caller's address is banned"},
		{text: "error code: 1007", kind: fault.Refused, reason: "the caller's address is banned"},
		{text: "error code: 1008", kind: fault.Refused, reason: "the caller's address is banned"},
		{text: "error code: 1009", kind: fault.Refused, reason: "the caller's country is banned"},
		{text: "error code: 1010", kind: fault.Refused, reason: "the bot check"},
		{text: "error code: 1012", kind: fault.Refused, reason: "the caller's address is banned"},
		{text: "error code: 1015", kind: fault.RateLimited, reason: "the site's rate limit"},
		{text: "error code: 1016", kind: fault.Unavailable, reason: "the origin's name cannot be resolved"},
		{text: "error code: 1020", kind: fault.Refused, reason: "the firewall"},
		{text: "error code: 1027", kind: fault.Quota, window: true, reason: "the daily requests of the origin's plan"},
		{text: "error code: 1033", kind: fault.Unavailable, reason: "the tunnel to the origin is down"},
		{text: "error code: 1101", kind: fault.Unavailable, reason: "the origin's Worker has thrown"},
		{text: "error code: 1102", kind: fault.Unavailable, reason: "the origin's Worker has used its time"},
		{text: "error code: 1200", kind: fault.Overloaded, reason: "the queue to the origin is full"},
	},
}

// isCloudflares reports whether a layer is a line of Cloudflare's, "error code: 1020", or names it: others count
// their errors from 1000 too.
func isCloudflares(l Layer) bool {
	line := strings.HasPrefix(l.folded, "error code: ") && len(l.folded) <= len("error code: 1020 ")
	return line || strings.Contains(l.folded, "cloudflare") || strings.Contains(l.folded, "ray id")
}
