package classify

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// judgePlainStatus decides by a status with one meaning.
func judgePlainStatus(e Evidence) (Ruling, bool) {
	r, ok := allRules().plainStatuses[e.innermostStatus()]
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
	r, ok := allRules().statuses[status]
	if !ok {
		r, ok = allRules().statuses[classOf(status)]
	}
	return r, ok
}

// statusIn finds the status that a message states: "status code: 429", "[400 Bad Request]", "API error
// (503)", "502 Bad Gateway". A number alone proves nothing. 0: none.
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
// cause that the 5xx wraps. 0: none.
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
	return slices.ContainsFunc(words().statusNames, func(w string) bool { return strings.HasSuffix(word, w) })
}

// stopIn returns the reason that a text states for the end of an answer, as a name: "Unhandled stop reason:
// abort"; "": none.
func stopIn(s string) string {
	s = s[:min(len(s), textLimit)]
	for _, before := range words().stops {
		if _, rest, ok := strings.Cut(s, before); ok && nameLen(rest) > 0 {
			return stopName(rest[:nameLen(rest)])
		}
	}
	return ""
}

// stopName returns a reason to stop as rules name it, apart from other reasons of the same word.
func stopName(reason string) string { return words().stopNames[0] + " " + reason }
