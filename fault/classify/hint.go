package classify

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// farthest bounds every hint. What lies beyond it is a mistake, and as good as
// nothing said; so is what is negative, no number, or past.
const farthest = 400 * 24 * time.Hour

// hint is how long a provider asks us to wait: as a span, an instant, or both.
type hint struct {
	wait time.Duration
	at   time.Time
}

// or fills in from another hint what h leaves open.
func (h hint) or(other hint) hint {
	if h.wait == 0 {
		h.wait = other.wait
	}
	if h.at.IsZero() {
		h.at = other.at
	}
	return h
}

// findHint looks where a hint may be: in the headers, then in the body's fields
// and its sentences. A sentence is finer than a field only in the fraction of a
// second by which the field is rounded down.
func (e Evidence) findHint(fields hint) hint {
	h := headerHint(e.Header, e.Now)
	if h.wait > 0 {
		return h
	}
	for _, l := range e.Layers {
		if said := proseHint(l, e.Now); said != (hint{}) {
			if finer := said.wait - fields.wait; finer > 0 && finer < time.Second {
				fields.wait = said.wait
			}
			return h.or(fields).or(said)
		}
	}
	return h.or(fields)
}

// headerHint reads, in this order: retry-after-ms (milliseconds); retry-after
// (seconds, with a fraction if need be, or an HTTP date, RFC 9110 10.2.3);
// x-codex-*-reset-after-seconds of a window that is used up; and the reset of
// every rate limit of which nothing remains. Instants are moved by the
// difference between the provider's clock (Date) and ours.
func headerHint(h http.Header, now time.Time) hint {
	if len(h) == 0 {
		return hint{}
	}
	clock := now
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		clock = date
	}
	return hint{wait: millis(h.Get("Retry-After-Ms"))}.
		or(moment(h.Get("Retry-After"), clock, now)).
		or(spentLimits(h, clock, now))
}

// spentLimits gives the latest reset among the limits of which nothing remains.
func spentLimits(h http.Header, clock, now time.Time) hint {
	var latest hint
	for name, values := range h {
		if len(values) > 0 && strings.Contains(name, "Reset") && spent(h, name) {
			latest = later(latest, moment(values[0], clock, now), now)
		}
	}
	return latest
}

// spent tells whether the limit whose reset the header states is used up. An
// unrelated header with Reset in its name has no such counterpart.
func spent(h http.Header, name string) bool {
	switch {
	case name == "Anthropic-Ratelimit-Unified-Reset":
		return h.Get("Anthropic-Ratelimit-Unified-Status") == "rejected"
	case strings.HasPrefix(name, "X-Codex-"):
		window, ok := strings.CutSuffix(name, "-Reset-After-Seconds")
		used, err := strconv.ParseFloat(h.Get(window+"-Used-Percent"), 64)
		return ok && err == nil && used >= 100
	}
	if !strings.Contains(name, "Ratelimit") {
		return false
	}
	left, err := strconv.ParseFloat(h.Get(strings.Replace(name, "Reset", "Remaining", 1)), 64)
	return err == nil && left <= 0
}

// later gives the hint that asks for the longer wait.
func later(a, b hint, now time.Time) hint {
	span := func(h hint) time.Duration { return (&fault.Error{Wait: h.wait, ResetAt: h.at}).RetryAfter(now) }
	if span(b) > span(a) {
		return b
	}
	return a
}

// moment reads a header's value: seconds, a span such as "6m0s", an HTTP date,
// an RFC 3339 instant, or Unix time in seconds or milliseconds.
func moment(v string, clock, now time.Time) hint {
	if v == "" {
		return hint{}
	}
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		switch {
		case n > 1e12: // Unix milliseconds
			return hint{at: instant(unix(n/1000), clock, now)}
		case n > 1e9: // Unix seconds
			return hint{at: instant(unix(n), clock, now)}
		}
		return hint{wait: bounded(n)}
	}
	if d, rest, ok := span(v); ok && rest == "" {
		return hint{wait: d}
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return hint{at: instant(t, clock, now)}
	}
	if t, err := http.ParseTime(v); err == nil {
		return hint{at: instant(t, clock, now)}
	}
	return hint{}
}

// units end the names of fields, behind what they are about; the longest first.
var units = [...]struct {
	name    string
	seconds float64
}{
	{"milliseconds", 1e-3}, {"millis", 1e-3}, {"ms", 1e-3}, {"seconds", 1}, {"secs", 1}, {"sec", 1}, {"minutes", 60},
}

// stated reads a body's field, given by its canonical name.
func stated(field []byte, v string, now time.Time) hint {
	if len(field) < len("wait") || v == "" {
		return hint{}
	}
	for _, u := range units {
		if base, ok := bytes.CutSuffix(field, []byte(u.name)); ok && waiting(base) {
			n, _ := strconv.ParseFloat(v, 64)
			if n < 1e9 {
				return hint{wait: bounded(n * u.seconds)}
			}
		}
	}
	if waiting(field) {
		return moment(v, now, now)
	}
	return hint{}
}

// waiting tells whether a field states a wait, or an instant to wait for.
func waiting(field []byte) bool {
	switch string(field) {
	case "retrydelay", "quotaresetdelay", "retryafter", "retryin", "retryat", "tryagainin", "waittime", "waitfor", "estimatedtime",
		"resetsat", "resetat", "resetsin", "resetin", "resetafter", "resetsafter", "resettime", "wait", "cooldown", "cooldownremaining",
		"backoff", "availablein", "availableat", "nextavailableat", "nextretryat", "retrytime",
		"quotaresettimestamp", "xratelimitreset", "ratelimitreset":
		return true
	}
	return false
}

// span reads a span with its units at the start of a text: "6m0s", "34.07s",
// "20ms", "58 hours", "1 hour 30 minutes". It gives what follows it.
func span(s string) (d time.Duration, rest string, ok bool) {
	var seconds float64
	for rest = s; ; ok = true {
		n := numberLen(rest)
		value, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			break
		}
		word := strings.TrimPrefix(rest[n:], " ")
		unit := 0
		for unit < len(word) && 'a' <= word[unit]|0x20 && word[unit]|0x20 <= 'z' {
			unit++
		}
		each, known := unitSeconds(word[:unit])
		if !known {
			break
		}
		seconds += value * each
		rest = trimJoints(word[unit:])
	}
	return bounded(seconds), rest, ok
}

// trimJoints skips what joins two parts of a span: "3 days, 4 hours and 5 minutes".
func trimJoints(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, ","), " ")
	if rest, ok := strings.CutPrefix(s, "and "); ok && numberLen(rest) > 0 {
		return rest
	}
	return s
}

// numberLen gives the length of the number at the start of a text.
func numberLen(s string) int {
	n := 0
	for n < len(s) && n < 24 && ('0' <= s[n] && s[n] <= '9' || s[n] == '.') {
		n++
	}
	return n
}

// unitSeconds gives the length of a unit of time.
func unitSeconds(unit string) (float64, bool) {
	switch unit {
	case "ms", "millisecond", "milliseconds":
		return 1e-3, true
	case "us", "microseconds":
		return 1e-6, true
	case "ns":
		return 1e-9, true
	case "s", "sec", "secs", "second", "seconds":
		return 1, true
	case "m", "min", "mins", "minute", "minutes":
		return 60, true
	case "h", "hr", "hrs", "hour", "hours":
		return 3600, true
	case "d", "day", "days":
		return 24 * 3600, true
	case "w", "week", "weeks":
		return 7 * 24 * 3600, true
	}
	return 0, false
}

// millis reads a number of milliseconds.
func millis(s string) time.Duration {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return bounded(n / 1000)
}

// bounded makes a wait of a number of seconds; what cannot be meant is 0. NaN
// fails both comparisons.
func bounded(seconds float64) time.Duration {
	if !(seconds > 0 && seconds <= farthest.Seconds()) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// unix gives the instant of a Unix time within reason.
func unix(seconds float64) time.Time {
	if !(seconds < 1e11) {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// instant moves an instant from the provider's clock to ours; past or absurd
// ones become zero.
func instant(t, clock, now time.Time) time.Time {
	left := t.Sub(clock)
	if t.IsZero() || left <= 0 || left > farthest {
		return time.Time{}
	}
	return now.Add(left)
}
