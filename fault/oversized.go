package fault

import (
	"strconv"
	"strings"
)

// oversized rules on a sentence that states a budget and a request beyond it:
// that one never passes, however long one waits.
func oversized(l Layer) (Ruling, bool) {
	if requestedMore(l.folded) || currentMore(l.folded) {
		return Ruling{Kind: Invalid, Rule: "oversized", Reason: "one request is larger than the whole budget"}, true
	}
	return Ruling{}, false
}

// requestedMore finds "Limit 30000, Requested 45000". With tokens in use beside
// it, the sum is over the limit and a wait helps.
func requestedMore(folded string) bool {
	limit, rest := numberAfter(folded, "limit ")
	requested, _ := numberAfter(rest, "requested ")
	return limit > 0 && requested > limit
}

// currentMore finds "TPM rate limit, current: 1410, limit: 100", where current
// counts the request with what is in use. That was within the limit, so a sum of
// more than twice the limit has a request in it that is larger than the limit.
func currentMore(folded string) bool {
	_, rest, ok := strings.Cut(folded, "tpm")
	if !ok {
		return false
	}
	current, rest := numberAfter(rest, "current: ")
	limit, _ := numberAfter(rest, "limit: ")
	return limit > 0 && current > 2*limit
}

// numberAfter gives the number behind the words and what follows it, within
// reach; 0: there is none.
func numberAfter(s, words string) (float64, string) {
	_, rest, ok := strings.Cut(s, words)
	if !ok {
		return 0, ""
	}
	rest = rest[:min(len(rest), far)]
	n := numberLen(rest)
	value, err := strconv.ParseFloat(strings.TrimRight(rest[:n], "."), 64)
	if err != nil {
		return 0, ""
	}
	return value, rest[n:]
}
