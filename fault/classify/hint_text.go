package classify

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// clauseReach is how far before a duration the asking word may be, in bytes.
const clauseReach = 48

// textHint reads what a message asks for: "try again in 7m12s", "wait 6 seconds", "resets at
// 2026-05-15T15:00:00Z". A duration needs its unit, an instant its zone. It searches for the numbers, which
// are fewer than the words.
func textHint(l Layer, clock, now time.Time) hint {
	s := l.folded
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		if d, rest, ok := parseWait(s[i:]); ok && asks(s[:i], rest) {
			return hint{wait: d}
		}
		i += numberLen(s[i:])
	}
	if at := textInstant(l.Message, clock, now); !at.IsZero() {
		return hint{at: at}
	}
	return hint{wait: wordHint(s)}
}

// asksForWait reports whether a text ends with words that ask for a wait: one of vocabulary.asks, or an asking
// word and then "in", "after" or "for", within one clause.
func asksForWait(all string) bool {
	v, before := words(), trimFillers(all)
	if slices.ContainsFunc(v.asks, func(w string) bool { return strings.HasSuffix(before, w) }) {
		return true
	}
	clause := lastClause(before, ".;?!0123456789")
	at := len(clause)
	if !strings.Contains(all[len(before):], "for") { // "for" is a filler, too
		at = strings.LastIndexByte(clause, ' ')
	}
	if at < 0 || at < len(clause) && !slices.Contains(v.prepositions, clause[at+1:]) {
		return false
	}
	for word := range strings.FieldsSeq(clause[:at]) {
		if slices.Contains(v.asking, strings.TrimRight(word, ",:")) {
			return true
		}
	}
	return false
}

// parseWait parses a duration with its units, or in clock form: [days.]05:23:11. It returns what follows.
func parseWait(s string) (d time.Duration, rest string, ok bool) {
	if d, rest, ok := parseSpan(s); ok && d > 0 {
		return d, strings.TrimPrefix(rest, " "), true
	}
	n := numberLen(s)
	if n >= len(s) || s[n] != ':' {
		return 0, "", false
	}
	days, hours, ok := strings.Cut(s[:n], ".")
	if !ok {
		days, hours = "0", days
	}
	end := min(len(s), n+6)
	clock, err := time.Parse("15:04:05", hours+s[n:end])
	whole, bad := strconv.ParseFloat(days, 64)
	seconds := whole*24*3600 + clock.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()
	return boundedWait(seconds), s[end:], err == nil && bad == nil
}

// trimFillers cuts what may stand between the asking words and the duration.
func trimFillers(s string) string {
	for {
		before := len(s)
		s = strings.TrimRight(s, ": (")
		for _, f := range words().fillers {
			s = strings.TrimSuffix(s, f)
		}
		if len(s) == before {
			return s
		}
	}
}

// textInstant reads "resets at 2026-05-15T15:00:00Z", the same in Go's form with an offset, and Anthropic's
// "regain access on 2026-12-01 at 00:00 UTC". An instant without a time zone is ignored.
func textInstant(s string, clock, now time.Time) time.Time {
	if !strings.Contains(s, "20") { // the century
		return time.Time{}
	}
	for _, ask := range words().instants {
		_, rest, ok := strings.Cut(s, ask+" ")
		if !ok {
			continue
		}
		for _, layout := range [...]string{"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02 at 15:04 MST"} {
			if t, ok := parsePrefix(layout, rest); ok {
				return localInstant(t, clock, now)
			}
		}
	}
	return time.Time{}
}

// parsePrefix parses an instant at the start of a text: as many words as its layout has. The only zones that
// are known by their names are UTC and GMT.
func parsePrefix(layout, s string) (time.Time, bool) {
	n := strings.Count(layout, " ") + 1
	parts := strings.SplitN(s[:min(len(s), 40)], " ", n+1)
	t, err := time.Parse(layout, strings.TrimRight(strings.Join(parts[:min(len(parts), n)], " "), ".,;)"))
	zone, _ := t.Zone()
	return t, err == nil && (!strings.HasSuffix(layout, "MST") || zone == "UTC" || zone == "GMT")
}

// wordsLimit is how much of a message is searched for waits without a number, in bytes. They stand at its start or
// near it.
const wordsLimit = 1 << 10

// wordHint reads a wait without a digit: "try again in half an hour"; 0: it states no such wait.
func wordHint(folded string) time.Duration {
	s := folded[:min(len(folded), wordsLimit)]
	if !containsAny(s, words().amountNouns...) {
		return 0
	}
	for _, a := range words().amounts {
		for from := 0; ; {
			at := strings.Index(s[from:], a.words)
			if at < 0 {
				break
			}
			before, rest := s[:from+at], s[from+at+len(a.words):]
			whole := before == "" || a.words[0] >= utf8.RuneSelf || !isWord(before[len(before)-1]) // words of scripts without spaces are
			if whole && asks(before, strings.TrimPrefix(rest, " ")) {
				return a.span
			}
			from += at + len(a.words)
		}
	}
	return 0
}

// asks reports whether what surrounds a duration says that it is to be waited for.
func asks(before, rest string) bool {
	if strings.HasSuffix(strings.TrimSuffix(before, " "), "月") {
		return false // the day of a date
	}
	remains := slices.ContainsFunc(words().remaining, func(w string) bool { return strings.HasPrefix(rest, w) })
	return remains || asksForWait(before) || containsAny(lastClause(before, ".;?!。；？！0123456789"), words().asksAbroad...)
}

// lastClause returns the part of a text after the last of the marks, within reach.
func lastClause(s, marks string) string {
	s = s[max(0, len(s)-clauseReach):]
	return s[strings.LastIndexAny(s, marks)+1:]
}

// unitAt returns the unit of time at the start of a text, and the length of the word that it is or begins; 0: no unit.
func unitAt(s string) (each time.Duration, n int) {
	for n < len(s) && isLower(s[n]|0x20) {
		n++
	}
	for _, u := range words().units {
		if u.words == s[:n] {
			return u.span, n
		}
	}
	for _, u := range words().unitsAbroad {
		if !strings.HasPrefix(s, u.words) {
			continue
		}
		n = len(u.words)
		if r, _ := utf8.DecodeRuneInString(u.words); r >= '⺀' { // a script without spaces
			return u.span, n
		}
		for n < len(s) && s[n] != ' ' && (isWord(s[n]) || s[n] >= utf8.RuneSelf) { // the ending
			n++
		}
		return u.span, n
	}
	return 0, 0
}
