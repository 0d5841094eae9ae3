package classify

import (
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// judgeOversized decides by a text that states a budget and a request larger than it: waiting never helps.
func judgeOversized(l Layer) (Ruling, bool) {
	if requestedMore(l.folded) || currentMore(l.folded) {
		return Ruling{Kind: fault.Invalid, Rule: "oversized", Reason: "one request is larger than the whole budget"}, true
	}
	return Ruling{}, false
}

// requestedMore finds "Limit 30000, Requested 45000". Where tokens in use are stated as well, the sum is
// over the limit and a wait helps.
func requestedMore(folded string) bool {
	if !strings.Contains(folded, "quested ") {
		return false
	}
	limit, rest := numberAfter(folded, "limit ")
	requested, _ := numberAfter(rest, "requested ")
	return limit > 0 && requested > limit
}

// currentMore finds "TPM rate limit, current: 1410, limit: 100", where current counts the request with the
// tokens in use. Those were within the limit, so a sum above twice the limit means a request larger than
// the limit.
func currentMore(folded string) bool {
	if !strings.Contains(folded, "urrent: ") {
		return false
	}
	_, rest, ok := strings.Cut(folded, "tpm")
	if !ok {
		return false
	}
	current, rest := numberAfter(rest, "current: ")
	limit, _ := numberAfter(rest, "limit: ")
	return limit > 0 && current > 2*limit
}

// numberAfter returns the number after a label and what follows it, within reach; 0: none.
func numberAfter(s, label string) (float64, string) {
	_, rest, ok := strings.Cut(s, label)
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

// judgeOverlong decides by a text about tokens or a context with two numbers, of which the first, the size
// sent, is larger. A 429 means a rate, and a limit on the answer is about a parameter.
func judgeOverlong(l Layer, status int) (Ruling, bool) {
	s := l.folded[:min(len(l.folded), far*2)]
	if status == 429 || !containsAny(s, "token", "context", "input", "prompt") || !containsAny(s, ">", "more than", "max", "limit", "exceed", "accepts", "only", "most", "up to", "window") ||
		containsAny(s, "per ", "/min", "output", "completion", "rate", "max tokens", "max new", "second") {
		return Ruling{}, false
	}
	size, rest := firstAmount(s)
	limit, _ := firstAmount(rest)
	if limit == 0 || size <= limit {
		return Ruling{}, false
	}
	return Ruling{Kind: fault.TooLong, Rule: "overlong", Guessed: true, Reason: "it states a size and a smaller limit"}, true
}

// containsAny reports whether a text contains one of the words.
func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// firstAmount returns the first number of at least three digits in a text, which may contain commas, and
// what follows it; 0: none.
func firstAmount(s string) (value int, rest string) {
	for i := 0; i < len(s); i++ {
		n, digits := 0, 0
		for ; i+n < len(s) && (isDigit(s[i+n]) || digits > 0 && s[i+n] == ','); n++ {
			if isDigit(s[i+n]) && digits < 9 {
				value = value*10 + int(s[i+n]-'0')
				digits++
			}
		}
		if digits >= 3 && (i == 0 || !isWord(s[i-1])) {
			return value, s[i+n:]
		}
		value, i = 0, i+n
	}
	return 0, ""
}
