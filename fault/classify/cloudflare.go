package classify

import "github.com/ridethrough/ridethrough/fault"

// workersAI is Cloudflare's Workers AI, whose codes are numbers.
// Source: developers.cloudflare.com/workers-ai/platform/errors.
var workersAI = table{
	vendor: "workers-ai",
	names: []row{
		{name: "3006", kind: fault.TooLong, why: "bytes"},
		{name: "3007", kind: fault.UpstreamTimeout, why: "the model took too long"},
		{name: "3008", kind: fault.Unavailable, why: "the call was broken off over there"},
		{name: "3023", kind: fault.Refused, why: "the account is blocked, though it says unavailable"},
		{name: "3036", kind: fault.Quota, window: true, why: "the free allocation of the day"},
		{name: "4006", kind: fault.Quota, window: true, why: "the free allocation of the day"},
		{name: "3039", kind: fault.Invalid, why: "a finetune without its files"},
		{name: "3040", kind: fault.Overloaded, why: "no data centre has capacity left"},
		{name: "3041", kind: fault.Refused, why: "the account may not use the model"},
		{name: "3042", kind: fault.Invalid, why: "there is no such model"},
		{name: "5007", kind: fault.Invalid, why: "there is no such model"},
		{name: "5016", kind: fault.Refused, why: "the terms of the model have to be accepted"},
		{name: "5018", kind: fault.Refused, why: "the account may not use the model"},
	},
	says: []row{
		{says: "service unavailable for account", kind: fault.Refused, why: "the account is blocked"},
		{says: "no more data centers to forward the request to", kind: fault.Overloaded, why: "no data centre has capacity left"},
		{says: "capacity temporarily exceeded", kind: fault.Overloaded, why: "no data centre has capacity left"},
	},
}

// cloudflare is what Cloudflare answers in place of an origin, as a page or as
// the line "error code: 1020". Source: developers.cloudflare.com on 1xxx errors.
var cloudflare = table{
	vendor: "cloudflare",
	says: []row{
		{says: "Just a moment...", kind: fault.Refused, why: "it wants a browser"},
		{says: "Attention Required! | Cloudflare", kind: fault.Refused, why: "it blocks the caller"},
		{says: "Sorry, you have been blocked", kind: fault.Refused, why: "it blocks the caller"},
		{says: "Enable JavaScript and cookies to continue", kind: fault.Refused, why: "it wants a browser"},
		{says: "Checking your browser before accessing", kind: fault.Refused, why: "it wants a browser"},
		{says: "Access denied * used Cloudflare to restrict access", kind: fault.Refused, why: "1020 and its kin"},
		{says: "You are being rate limited", kind: fault.RateLimited, why: "1015"},
		{says: "error code: 1000", kind: fault.Invalid, why: "the name leads to a forbidden address"},
		{says: "error code: 1001", kind: fault.Unavailable, why: "the name cannot be resolved"},
		{says: "error code: 1003", kind: fault.Invalid, why: "an address where a name is wanted"},
		{says: "error code: 1005", kind: fault.Refused, why: "the caller's network is banned"},
		{says: "error code: 1006", kind: fault.Refused, why: "the caller's address is banned"},
		{says: "error code: 1007", kind: fault.Refused, why: "the caller's address is banned"},
		{says: "error code: 1008", kind: fault.Refused, why: "the caller's address is banned"},
		{says: "error code: 1009", kind: fault.Refused, why: "the caller's country is banned"},
		{says: "error code: 1010", kind: fault.Refused, why: "the bot check"},
		{says: "error code: 1012", kind: fault.Refused, why: "the caller's address is banned"},
		{says: "error code: 1015", kind: fault.RateLimited, why: "the site's rate limit"},
		{says: "error code: 1016", kind: fault.Unavailable, why: "the origin's name cannot be resolved"},
		{says: "error code: 1020", kind: fault.Refused, why: "the firewall"},
		{says: "error code: 1027", kind: fault.Quota, window: true, why: "the daily requests of the origin's plan"},
		{says: "error code: 1033", kind: fault.Unavailable, why: "the tunnel to the origin is down"},
		{says: "error code: 1101", kind: fault.Unavailable, why: "the origin's Worker has thrown"},
		{says: "error code: 1102", kind: fault.Unavailable, why: "the origin's Worker has used its time"},
		{says: "error code: 1200", kind: fault.Overloaded, why: "the queue to the origin is full"},
	},
}
