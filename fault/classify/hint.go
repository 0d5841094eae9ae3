package classify

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// maxHint bounds every hint. A longer Retry-After is cut to it, which no budget allows; any other longer,
// negative, past or unparsable value is ignored.
const maxHint = 400 * 24 * time.Hour

// hint is how long a provider asks to wait: as a duration, an instant, or both.
type hint struct {
	wait time.Duration
	at   time.Time
}

// or fills what h leaves open from another hint.
func (h hint) or(other hint) hint {
	if h.wait == 0 {
		h.wait = other.wait
	}
	if h.at.IsZero() {
		h.at = other.at
	}
	return h
}

// findHint reads the hint from the headers, then from the body's fields and messages. A message is more
// precise than a field only in the fraction of a second by which the field is rounded down.
func (e Evidence) findHint(fields hint) hint {
	clock := e.clock()
	h := headerHint(e.Header, clock, e.Now)
	if h.wait > 0 {
		return h
	}
	for _, l := range e.Layers {
		if text := textHint(l, clock, e.Now); text != (hint{}) {
			if finer := text.wait - fields.wait; finer > 0 && finer < time.Second {
				fields.wait = text.wait
			}
			return h.or(fields).or(text)
		}
	}
	return h.or(fields)
}

// clock returns the provider's time: its header Date, or ours.
func (e Evidence) clock() time.Time {
	if date, err := http.ParseTime(e.Header.Get("Date")); err == nil {
		return date
	}
	return e.Now
}

// headerHint reads, in this order: the headers that state a wait, possibly with a fraction; a date in Retry-After;
// x-codex-*-reset-after-seconds of a window that is used up; and the reset of every rate limit with nothing remaining.
// Instants are moved by the difference between the provider's clock (Date) and ours.
func headerHint(h http.Header, clock, now time.Time) (found hint) {
	if len(h) == 0 {
		return hint{}
	}
	for _, w := range api.WaitHeaders() {
		found = found.or(hint{wait: parseRetryAfter(h.Get(w.Name), w.Unit)})
	}
	return found.
		or(parseTime(h.Get("Retry-After"), clock, now)).
		or(limitHeader(h["Ratelimit"])).
		or(spentLimits(h, clock, now))
}

// limitHeader reads the header RateLimit of limits with nothing remaining, the longest wait of all: a list of
// `"burst";r=0;t=45`, or "limit=100, remaining=0, reset=37" of an earlier draft
// (draft-ietf-httpapi-ratelimit-headers).
func limitHeader(values []string) (longest hint) {
	for _, v := range values {
		limits := strings.Split(v, ",")
		if strings.Contains(v, "remaining=") { // one in the earlier form
			limits = []string{v}
		}
		for _, limit := range limits {
			left, wait := -1.0, 0.0
			for _, field := range strings.FieldsFunc(limit, func(r rune) bool { return r == ';' || r == ',' || r == ' ' }) {
				name, number, _ := strings.Cut(field, "=")
				n, err := strconv.ParseFloat(number, 64)
				switch {
				case err != nil:
				case name == "r" || name == "remaining":
					left = n
				case name == "t" || name == "reset":
					wait = n
				}
			}
			if left == 0 {
				longest.wait = max(longest.wait, boundedWait(wait))
			}
		}
	}
	return longest
}

// spentLimits returns the latest reset among the limits with nothing remaining.
func spentLimits(h http.Header, clock, now time.Time) (latest hint) {
	var longest time.Duration
	for name, values := range h {
		if len(values) == 0 || !strings.Contains(name, "Reset") || !isSpent(h, name) {
			continue
		}
		reset := parseTime(values[0], clock, now)
		if wait := (&fault.Error{Wait: reset.wait, ResetAt: reset.at}).RetryAfter(now); wait > longest {
			latest, longest = reset, wait
		}
	}
	return latest
}

// isSpent reports whether the limit whose reset the header states is used up. An unrelated header with
// Reset in its name has no such counterpart.
func isSpent(h http.Header, name string) bool {
	switch {
	case strings.HasPrefix(name, "Anthropic-Ratelimit-Unified-"): // the window that refuses, or a named one: Unified-5h-Reset
		window, ok := strings.CutSuffix(name, "-Reset")
		return ok && !strings.HasSuffix(window, "-Overage") && h.Get(window+"-Status") == "rejected"
	case strings.HasPrefix(name, "X-Codex-"):
		window, ok := strings.CutSuffix(name, "-Reset-After-Seconds")
		if !ok {
			window, ok = strings.CutSuffix(name, "-Reset-At")
		}
		used, err := strconv.ParseFloat(h.Get(window+"-Used-Percent"), 64)
		return ok && err == nil && used >= 100
	}
	if !strings.Contains(name, "Ratelimit") {
		return false
	}
	left, err := strconv.ParseFloat(h.Get(strings.Replace(name, "Reset", "Remaining", 1)), 64)
	return err == nil && left <= 0
}

// parseTime parses a header's value: seconds, a duration such as "6m0s", an HTTP date, an RFC 3339 instant,
// or Unix time in seconds or milliseconds.
func parseTime(v string, clock, now time.Time) hint {
	if v == "" {
		return hint{}
	}
	if len(v) > len("2006-") && v[4] == '-' { // before another parse fails, which allocates
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return hint{at: localInstant(t, clock, now)}
		}
		return hint{}
	}
	if last := v[len(v)-1]; last == 's' || last == 'm' || last == 'h' { // as before
		d, rest, ok := parseSpan(v)
		if !ok || rest != "" {
			d = 0
		}
		return hint{wait: d}
	}
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		if n > 1e12 { // Unix milliseconds
			n /= 1000
		}
		if n > unixFloor {
			return hint{at: localInstant(time.Unix(int64(min(n, 1e11)), 0), clock, now)}
		}
		return hint{wait: boundedWait(n)}
	}
	if d, rest, ok := parseSpan(v); ok && rest == "" {
		return hint{wait: d}
	}
	if t, err := http.ParseTime(v); err == nil {
		return hint{at: localInstant(t, clock, now)}
	}
	return hint{}
}

// ParseReset returns the instant that a header about a limit states, in any of the vendors' forms: seconds, a
// duration such as "6m0s", an HTTP date, an RFC 3339 instant, or Unix time in seconds or milliseconds. An instant is
// moved from the provider's clock, as its header Date has it, to ours. One that is past, absurd or unreadable is zero.
func ParseReset(value string, clock, now time.Time) time.Time {
	h := parseTime(value, clock, now)
	if h.wait > 0 {
		return now.Add(h.wait)
	}
	return h.at
}

// fieldHint reads a body's field, given by its canonical name.
func fieldHint(field []byte, v string, clock, now time.Time) hint {
	if len(field) < len("wait") || v == "" {
		return hint{}
	}
	for _, u := range words().fieldUnits {
		if base, ok := bytes.CutSuffix(field, []byte(u.words)); ok && isOneOf(words().fields, base) {
			n, _ := strconv.ParseFloat(v, 64)
			if n < 1e9 {
				return hint{wait: boundedWait(n * u.span.Seconds())}
			}
		}
	}
	if isOneOf(words().fields, field) {
		return parseTime(v, clock, now)
	}
	return hint{}
}

// parseSpan parses a duration with units at the start of a text: "6m0s", "34.07s", "20ms", "58 hours", "1
// hour 30 minutes". It returns what follows.
func parseSpan(s string) (d time.Duration, rest string, ok bool) {
	var seconds float64
	for rest = s; ; ok = true {
		n := numberLen(rest)
		if n == 0 {
			break
		}
		value, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			break
		}
		word := strings.TrimPrefix(rest[n:], " ")
		each, unit := unitAt(word)
		if unit == 0 {
			break
		}
		seconds += value * each.Seconds()
		rest = trimJoints(word[unit:])
	}
	return boundedWait(seconds), rest, ok
}

// trimJoints removes what joins two parts of a duration: "3 days, 4 hours and 5 minutes".
func trimJoints(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, ","), " ")
	if rest, ok := strings.CutPrefix(s, "and "); ok && numberLen(rest) > 0 {
		return rest
	}
	return s
}

// numberLen returns the length of the number at the start of a text.
func numberLen(s string) int {
	n := 0
	for n < len(s) && n < 24 && ('0' <= s[n] && s[n] <= '9' || s[n] == '.') {
		n++
	}
	return n
}

// unixFloor is the least number of seconds that is read as an instant, in 1998, and not as a wait.
const unixFloor = 9e8

// parseRetryAfter parses a wait in a unit. A number too large for a wait, even for a float, is one of maxHint:
// a server that asks for eternity is not asked again at once. Unix time and "Inf" are no waits.
func parseRetryAfter(s string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(s, 64)
	seconds := n * unit.Seconds()
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0, seconds > maxUnix && !math.IsInf(n, 1), seconds > maxHint.Seconds() && seconds < unixFloor:
		return maxHint
	case err != nil:
		return 0
	}
	return boundedWait(seconds)
}

// boundedWait converts seconds to a wait; an absurd value becomes 0. NaN fails both comparisons.
func boundedWait(seconds float64) time.Duration {
	if !(seconds > 0 && seconds <= maxHint.Seconds()) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// maxUnix is above every Unix time that is meant, in milliseconds as in seconds.
const maxUnix = 1e14

// localInstant moves an instant from the provider's clock to ours; past or absurd ones become zero. A provider's
// clock by which it would be absurd is not believed.
func localInstant(t, clock, now time.Time) time.Time {
	left := t.Sub(clock)
	if left > maxHint {
		left = t.Sub(now)
	}
	if t.IsZero() || left <= 0 || left > maxHint {
		return time.Time{}
	}
	return now.Add(left)
}
