package classify

import (
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// judgeOversized decides by a text that states a budget and a request larger than it: waiting never helps.
func judgeOversized(l Layer, status int) (Ruling, bool) {
	if requestedMore(l.folded) || currentMore(l.folded) || isOfRate(l.folded, status) && requestsMoreTokens(l.folded) {
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
	size, _, end := firstAmount(s)
	limit, _, _ := firstAmount(s[end:])
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

// firstAmount returns the first number of at least three digits in a text, which may contain commas, and where it is;
// 0: none.
func firstAmount(s string) (value, begin, end int) {
	for i := 0; i < len(s); i++ {
		n, digits := 0, 0
		for ; i+n < len(s) && (isDigit(s[i+n]) || digits > 0 && s[i+n] == ','); n++ {
			if isDigit(s[i+n]) && digits < 9 {
				value = value*10 + int(s[i+n]-'0')
				digits++
			}
		}
		if digits >= 3 && (i == 0 || !isWord(s[i-1])) {
			return value, i, i + n
		}
		value, i = 0, i+n
	}
	return 0, len(s), len(s)
}

// amount is what a number in a message says.
type amount uint8

const (
	unsaid    amount = iota
	requested        // by one request
	limited          // the most that may be
	state            // what has been used, or is left
)

// Words that say what a number is: the nearest before it, if none follows it at once.
var (
	amountsBefore = map[string]amount{
		"request": requested, "asked for": requested, "asks for": requested, "needs": requested, "estimated": requested,
		"limit": limited, "max": limited, "exceed": limited, "allow": limited, "quota": limited, "budget": limited, "capacity": limited,
		"at most": limited, "up to": limited, "more than": limited, ">": limited,
		"used": state, "current": state, "remain": state, "left": state, "available": state, "already": state, "consumed": state,
		"spent": state, "retry": state, "reset": state, "again": state, "wait": state,
	}
	amountsAfter = map[string]amount{
		"requested": requested, "limit": limited, "max": limited, "allowed": limited,
		"used": state, "remain": state, "left": state, "available": state, "already": state, "consumed": state,
	}
	units      = []string{"k", "input ", "output ", "total ", "prompt ", "tokens", "token", "per minute", "per day", "per hour", "per min", "/min", "tpm", "tpd"}
	timesAfter = []string{"in the ", "last ", "past ", "so far", "this ", "per ", "/", "requests", "today", "since", "within"}
)

// isOfRate reports whether a text is about how much is taken in a time, and not about a context.
func isOfRate(folded string, status int) bool {
	return !strings.Contains(folded, "context") &&
		(status == 429 || containsAny(folded, "per minute", "per min", "per hour", "per day", "/min", "tpm", "tpd", "rate limit", "quota", "budget"))
}

// requestsMoreTokens finds the tokens of one request and a smaller limit, in any words and order: "Your request of 210,000
// tokens exceeds the 200,000 tokens per minute limit". What was used, is left, or was asked for in a time says nothing.
func requestsMoreTokens(folded string) bool {
	s := folded[:min(len(folded), 2*far)]
	asked, limit := 0, 0
	for value, begin, end := firstAmount(s); value > 0; value, begin, end = firstAmount(s) {
		before, after := s[:begin], s[end:]
		_, next, _ := firstAmount(after)
		switch amountOf(before, after[:next]) {
		case requested:
			if asked == 0 && isOfOne(before, after[:next]) {
				asked = value
			}
		case limited:
			limit = max(limit, value)
		}
		s = after
	}
	return limit > 0 && asked > limit
}

// amountOf says what a number between two texts is.
func amountOf(before, after string) (is amount) {
	unitless := strings.TrimLeft(after, " ")
	for _, u := range units {
		unitless = strings.TrimLeft(strings.TrimPrefix(unitless, u), " ")
	}
	for word, a := range amountsAfter {
		if strings.HasPrefix(unitless, word) {
			return a
		}
	}
	nearest := 0
	for word, a := range amountsBefore {
		if at := strings.LastIndex(before, word); at >= 0 && at+len(word) > nearest {
			nearest, is = at+len(word), a
		}
	}
	return is
}

// isOfOne reports whether a number of what is requested is one of tokens, and of one request.
func isOfOne(before, after string) bool {
	unit := strings.TrimLeft(after, " k")
	for _, u := range units[1:5] {
		unit = strings.TrimPrefix(unit, u)
	}
	if !strings.HasPrefix(unit, "token") && !strings.HasSuffix(strings.TrimRight(before, " :=~"), "requested") {
		return false
	}
	return !containsAny(after[:min(len(after), 28)], timesAfter...)
}
