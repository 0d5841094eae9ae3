package classify

import (
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// oversized rules on a sentence that states a budget and a request beyond it:
// that one never passes, however long one waits.
func oversized(l Layer) (Ruling, bool) {
	if requestedMore(l.folded) || currentMore(l.folded) {
		return Ruling{Kind: fault.Invalid, Rule: "oversized", Reason: "one request is larger than the whole budget"}, true
	}
	return Ruling{}, false
}

// requestedMore finds "Limit 30000, Requested 45000". With tokens in use beside
// it, the sum is over the limit and a wait helps.
func requestedMore(folded string) bool {
	if !strings.Contains(folded, "quested ") {
		return false
	}
	limit, rest := numberAfter(folded, "limit ")
	requested, _ := numberAfter(rest, "requested ")
	return limit > 0 && requested > limit
}

// currentMore finds "TPM rate limit, current: 1410, limit: 100", where current
// counts the request with what is in use. That was within the limit, so a sum of
// more than twice the limit has a request in it that is larger than the limit.
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

// overlong rules on a sentence about tokens or a context with two numbers in it,
// of which the first is larger: what was sent, and what is taken. A 429 means a
// rate, and a limit on the answer is about a parameter.
func overlong(l Layer, status int) (Ruling, bool) {
	s := l.folded[:min(len(l.folded), far*2)]
	if status == 429 || !says(s, "token", "context", "input", "prompt") || !says(s, ">", "more than", "max", "limit", "exceed", "accepts", "only", "most", "up to", "window") ||
		says(s, "per ", "/min", "output", "completion", "rate", "max tokens", "max new", "second") {
		return Ruling{}, false
	}
	sent, rest := amount(s)
	taken, _ := amount(rest)
	if taken == 0 || sent <= taken {
		return Ruling{}, false
	}
	return Ruling{Kind: fault.TooLong, Rule: "overlong", Guessed: true, Reason: "it states a size, and a smaller one that is taken"}, true
}

// says tells whether a text has one of the words in it.
func says(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// amount gives the first number of at least three digits in a text, which may
// have commas between them, and what follows it; 0: there is none.
func amount(s string) (value int, rest string) {
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
