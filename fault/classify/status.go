package classify

import (
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// plainStatuses have one meaning, whatever the body says.
var plainStatuses = map[int]Ruling{
	408: {Kind: fault.UpstreamTimeout, Rule: "status/408", Reason: "the server waited too long, RFC 9110"},
	504: {Kind: fault.UpstreamTimeout, Rule: "status/504", Reason: "a gateway waited too long, RFC 9110"},
	522: {Kind: fault.UpstreamTimeout, Rule: "status/522", Reason: "Cloudflare could not connect to the origin in time"},
	524: {Kind: fault.UpstreamTimeout, Rule: "status/524", Reason: "Cloudflare waited 100 s for the origin"},
	529: {Kind: fault.Overloaded, Rule: "status/529", Reason: "the site is overloaded, by custom"},
}

// statuses are those whose meaning differs from that of their class. Texts are asked before them.
var statuses = map[int]Ruling{
	401: {Kind: fault.Auth, Rule: "status/401"},
	402: {Kind: fault.Quota, Rule: "status/402", Reason: "payment required"},
	403: {Kind: fault.Refused, Rule: "status/403"},
	407: {Kind: fault.Auth, Rule: "status/407", Reason: "a proxy requires credentials"},
	409: {Kind: fault.Unknown, Rule: "status/409", Reason: "a conflict that may or may not pass"},
	413: {Kind: fault.TooLong, Rule: "status/413"},
	421: {Kind: fault.Unavailable, Rule: "status/421", Reason: "misdirected: another connection may work"},
	424: {Kind: fault.Unavailable, Rule: "status/424", Reason: "a dependency failed: usually the model"},
	425: {Kind: fault.Unavailable, Rule: "status/425", Reason: "too early: not in 0-RTT, RFC 8470"},
	429: {Kind: fault.RateLimited, Rule: "status/429"},
	444: {Kind: fault.Unavailable, Rule: "status/444", Reason: "nginx closed the connection"},
	446: {Kind: fault.Refused, Rule: "status/446", Reason: "a Portkey guardrail"},
	451: {Kind: fault.Refused, Rule: "status/451", Reason: "legal reasons"},
	499: {Kind: fault.Canceled, Rule: "status/499", Reason: "the server's client closed the connection"},
	501: {Kind: fault.Invalid, Rule: "status/501", Reason: "the server does not implement the method"},
	503: {Kind: fault.Overloaded, Rule: "status/503", Reason: "overload or maintenance, RFC 9110"},
	505: {Kind: fault.Invalid, Rule: "status/505", Reason: "the server does not support this version of HTTP"},
	509: {Kind: fault.Quota, Rule: "status/509", Reason: "the site's bandwidth is spent, by custom"},
	511: {Kind: fault.Auth, Rule: "status/511", Reason: "the network requires a login"},
	526: {Kind: fault.Invalid, Rule: "status/526", Reason: "Cloudflare rejects the origin's certificate: it has to be renewed"},
	598: {Kind: fault.UpstreamTimeout, Rule: "status/598", Reason: "a proxy's read timeout, by custom"},
	599: {Kind: fault.UpstreamTimeout, Rule: "status/599", Reason: "a proxy's connect timeout, by custom"},
}

// judgePlainStatus decides by a status with one meaning.
func judgePlainStatus(e Evidence) (Ruling, bool) {
	r, ok := plainStatuses[e.innermostStatus()]
	return r, ok
}

// judgeStatus decides by the innermost status, where nothing more precise has. x-should-retry: true makes
// an unlisted 4xx worth another try.
func judgeStatus(e Evidence) (Ruling, bool) {
	r, ok := byStatus(e.innermostStatus())
	if ok && r.Kind == fault.Invalid && e.Header.Get("X-Should-Retry") == "true" {
		return Ruling{Kind: fault.Unavailable, Rule: "header/x-should-retry"}, true
	}
	if ok && r.Kind == fault.Invalid && e.partial {
		return Ruling{Kind: fault.Unavailable, Rule: "status/partial", Reason: "the reason broke off with the body"}, true
	}
	if !ok && e.page {
		return Ruling{Kind: fault.Unavailable, Rule: "page/in place of an answer", Reason: "a web page with a good status: of a proxy, a login or a maintenance"}, true
	}
	return r, ok
}

// byStatus returns the meaning of a status: its own, or that of its class.
func byStatus(status int) (Ruling, bool) {
	if r, ok := plainStatuses[status]; ok {
		return r, true
	}
	if r, ok := statuses[status]; ok {
		return r, true
	}
	switch {
	case status >= 500:
		return Ruling{Kind: fault.Unavailable, Rule: "status/5xx"}, true
	case status >= 400:
		return Ruling{Kind: fault.Invalid, Rule: "status/4xx"}, true
	case status >= 300:
		return Ruling{Kind: fault.Invalid, Rule: "status/3xx", Reason: "a redirect"}, true
	}
	return Ruling{}, false
}

// statusIn finds the status that a message states: "status code: 429", "[400 Bad Request]", "API error
// (503)", "502 Bad Gateway". A number alone proves nothing. 0: there is none.
func statusIn(s string) int {
	s = s[:min(len(s), textLimit)]
	for i := 0; i+3 <= len(s); i++ {
		if s[i] != '4' && s[i] != '5' || i > 0 && isWord(s[i-1]) || i+3 < len(s) && isWord(s[i+3]) {
			continue
		}
		if n := httpStatus(s[i : i+3]); n != 0 && introducesStatus(s[:i], s[i+3:], n) {
			return n
		}
	}
	return 0
}

// refusalIn finds a 4xx with its reason phrase in the message of a 5xx: "upstream: 401 Unauthorized". It is the
// cause that the 5xx wraps. 0: there is none.
func refusalIn(s string) int {
	s = s[:min(len(s), textLimit)]
	for {
		at := strings.IndexByte(s, '4')
		if at < 0 || at+4 > len(s) {
			return 0
		}
		n := httpStatus(s[at : at+3])
		if name := http.StatusText(n); name != "" && (at == 0 || !isWord(s[at-1])) && strings.HasPrefix(s[at+3:], " "+name) {
			return n
		}
		s = s[at+1:]
	}
}

// introducesStatus reports whether the words around a number say that it is a status.
func introducesStatus(before, behind string, n int) bool {
	if name := http.StatusText(n); name != "" && strings.HasPrefix(strings.TrimLeft(behind, " :"), name) {
		return true
	}
	if before == "" {
		return strings.HasPrefix(behind, " ") || strings.HasPrefix(behind, ":")
	}
	near := before[max(0, len(before)-24):] // bounded, or many numbers would make this quadratic
	word := strings.ToLower(strings.TrimRight(near, " :=[('\""))
	for _, w := range [...]string{"status", "status code", "error code", "error", "http", "statuscode", "http/1.1", "http/2", "failed", "failure", "response", "request", "exception"} {
		if strings.HasSuffix(word, w) {
			return true
		}
	}
	return false
}
