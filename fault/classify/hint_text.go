package classify

import (
	"strconv"
	"strings"
	"time"
)

// askPhrases precede a wait in a message.
var askPhrases = [...]string{
	"again in", "retry in", "retry after", "again after", "wait", "reset after", "reset in", "resets in", "resets after",
	"available in", "retrying in", "replenished in",
}

// clauseReach is how far before a duration the asking word may be, in bytes.
const clauseReach = 48

// prepositions stand between an asking word and the duration.
var prepositions = map[string]bool{"in": true, "after": true, "within": true, "of": true}

// askingWords make a duration after a preposition a wait: "come back in 3h", "the limit will be reset after
// 20 s".
var askingWords = map[string]bool{
	"again": true, "retry": true, "wait": true, "back": true, "available": true, "ready": true, "try": true,
	"reset": true, "resets": true, "renew": true, "renews": true, "renewed": true, "refresh": true, "refreshes": true,
	"replenish": true, "replenishes": true, "refill": true, "refills": true, "resume": true, "resumes": true,
	"restored": true, "lifted": true, "unblocked": true, "unlocks": true, "expires": true, "reopens": true,
	"cooldown": true, "cooling": true, "backoff": true, "next": true, "reconnect": true, "loaded": true,
}

// fillers may stand between the asking words and the duration.
var fillers = [...]string{":", " ", " about", " approximately", " approx", " roughly", " around", " another", " at least", " for", " ~", " the next", "("}

// textHint reads what a message asks for: "try again in 7m12s", "wait 6 seconds", "resets at
// 2026-05-15T15:00:00Z". A duration needs its unit, an instant its zone. It searches for the numbers, which
// are fewer than the words.
func textHint(l Layer, clock, now time.Time) hint {
	s := l.folded
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		if d, rest, ok := parseWait(s[i:]); ok && (asksForWait(s[:i]) || saysRemaining(rest)) {
			return hint{wait: d}
		}
		i += numberLen(s[i:])
	}
	return hint{at: textInstant(l.Message, clock, now)}
}

// asksForWait reports whether a text ends with words that ask for a wait: one of askPhrases, or an asking
// word and then "in", "after" or "for", within one clause.
func asksForWait(all string) bool {
	before := trimFillers(all)
	for _, ask := range askPhrases {
		if strings.HasSuffix(before, ask) {
			return true
		}
	}
	clause := before[max(0, len(before)-clauseReach):]
	if at := strings.LastIndexAny(clause, ".;?!0123456789"); at >= 0 {
		clause = clause[at+1:]
	}
	at := len(clause)
	if !strings.Contains(all[len(before):], "for") { // "for" is a filler, too
		at = strings.LastIndexByte(clause, ' ')
	}
	if at < 0 || at < len(clause) && !prepositions[clause[at+1:]] {
		return false
	}
	for word := range strings.FieldsSeq(clause[:at]) {
		if askingWords[strings.TrimRight(word, ",:")] {
			return true
		}
	}
	return false
}

// saysRemaining reports whether what follows a duration says that it is still to pass.
func saysRemaining(rest string) bool {
	for _, p := range [...]string{"left", "remaining", "from now", "until", "before retry", "before try", "before sending", "before making", "before the next", "and try again", "and retry", "to go"} {
		if strings.HasPrefix(rest, p) {
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

func trimFillers(s string) string {
	for {
		before := len(s)
		for _, f := range fillers {
			s = strings.TrimSuffix(s, f)
		}
		if len(s) == before {
			return s
		}
	}
}

// textInstant reads "resets at 2026-05-15T15:00:00Z", and Anthropic's "regain access on 2026-12-01 at 00:00
// UTC".
func textInstant(s string, clock, now time.Time) time.Time {
	if !strings.Contains(s, "20") { // the century
		return time.Time{}
	}
	for _, ask := range [...]string{"reset at ", "resets at "} {
		if _, rest, ok := strings.Cut(s, ask); ok {
			word, _, _ := strings.Cut(rest[:min(len(rest), 40)], " ")
			if t, err := time.Parse(time.RFC3339, strings.TrimRight(word, ".,;)")); err == nil {
				return localInstant(t, clock, now)
			}
		}
	}
	const layout = "2006-01-02 at 15:04 UTC"
	if _, rest, ok := strings.Cut(s, "regain access on "); ok && len(rest) >= len(layout) {
		if t, err := time.Parse(layout, rest[:len(layout)]); err == nil {
			return localInstant(t, clock, now)
		}
	}
	return time.Time{}
}
