package ratelimit

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault/classify"
)

// maxLimits is how many limits of an answer are read.
const maxLimits = 8

// most is above every limit that is meant, in tokens a month.
const most = 1e13

// stated is a limit that is stated in three headers.
type stated struct {
	name                    string
	unit                    Unit
	window                  time.Duration // 0: the headers do not tell
	limit, remaining, reset string        // canonical; reset "": not stated
}

// families are the headers of a limit by how their names begin. Of one name there is one header.
var families = [...]struct {
	prefix string
	limits []stated
}{
	// https://platform.claude.com/docs/en/api/rate-limits
	{"Anthropic-Ratelimit-", []stated{
		anthropic("requests", Requests, "Anthropic-Ratelimit-Requests"),
		anthropic("tokens", Tokens, "Anthropic-Ratelimit-Tokens"),
		anthropic("input-tokens", InputTokens, "Anthropic-Ratelimit-Input-Tokens"),
		anthropic("output-tokens", OutputTokens, "Anthropic-Ratelimit-Output-Tokens"),
	}},
	{"Anthropic-Priority-", []stated{
		anthropic("priority-input-tokens", InputTokens, "Anthropic-Priority-Input-Tokens"),
		anthropic("priority-output-tokens", OutputTokens, "Anthropic-Priority-Output-Tokens"),
	}},
	// https://platform.openai.com/docs/guides/rate-limits, and Azure, Groq, xAI, Fireworks, Cerebras, SambaNova,
	// Mistral and OpenRouter, each with names of its own beside them.
	{"X-Ratelimit-", []stated{
		openAI("requests", Requests, 0, "-Requests"),
		openAI("tokens", Tokens, 0, "-Tokens"),
		openAI("project-tokens", Tokens, 0, "-Project-Tokens"),
		openAI("input-tokens", InputTokens, 0, "-Input-Tokens"),
		openAI("output-tokens", OutputTokens, 0, "-Output-Tokens"),
		openAI("input-tokens", InputTokens, 0, "-Tokens-Prompt"),
		openAI("output-tokens", OutputTokens, 0, "-Tokens-Generated"),
		openAI("requests", Requests, time.Minute, "-Requests-Minute"),
		openAI("requests", Requests, time.Minute, "-Req-Minute"),
		openAI("requests-day", Requests, day, "-Requests-Day"),
		openAI("tokens", Tokens, time.Minute, "-Tokens-Minute"),
		openAI("tokens-hour", Tokens, time.Hour, "-Tokens-Hour"),
		openAI("tokens-day", Tokens, day, "-Tokens-Day"),
		openAI("tokens-month", Tokens, 30*day, "-Tokens-Month"),
		openAI("requests", Requests, 0, ""),
	}},
	{"X-Ratelimitbysize-", []stated{
		{"tokens", Tokens, time.Minute, "X-Ratelimitbysize-Limit-Minute", "X-Ratelimitbysize-Remaining-Minute", ""},
		{"tokens-month", Tokens, 30 * day, "X-Ratelimitbysize-Limit-Month", "X-Ratelimitbysize-Remaining-Month", ""},
	}},
	{"X-Tokenlimit-", []stated{ // Together
		{"tokens", Tokens, time.Minute, "X-Tokenlimit-Limit", "X-Tokenlimit-Remaining", "X-Tokenlimit-Reset"},
	}},
	{"Ratelimit-", []stated{ // an early draft-ietf-httpapi-ratelimit-headers
		{"requests", Requests, 0, "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"},
	}},
}

const day = 24 * time.Hour

func anthropic(name string, u Unit, header string) stated {
	return stated{name, u, time.Minute, header + "-Limit", header + "-Remaining", header + "-Reset"}
}

func openAI(name string, u Unit, window time.Duration, suffix string) stated {
	return stated{name, u, window, "X-Ratelimit-Limit" + suffix, "X-Ratelimit-Remaining" + suffix, "X-Ratelimit-Reset" + suffix}
}

// Append appends the limits that the headers of an answer state, which arrived at that time, to those of
// others. It reads the headers of Anthropic, OpenAI, Azure, Groq, Mistral, OpenRouter and others like them, and
// of the subscriptions of Claude and Codex. A limit whose values are absurd or contradict one another is left out.
func Append(to []Limit, h http.Header, now time.Time) []Limit {
	if found := find(h); found != 0 {
		return read(to, h, found, now)
	}
	return to
}

// read is Append of the families that were found.
func read(to []Limit, h http.Header, found int, now time.Time) []Limit {
	r := reading{Header: h, now: now, clock: now, limits: to, from: len(to)}
	if date, err := http.ParseTime(r.value("Date")); err == nil {
		r.clock = date
	}
	for i := range families {
		if found&(1<<i) == 0 {
			continue
		}
		for j := range families[i].limits {
			r.counted(&families[i].limits[j])
		}
	}
	if found&shared != 0 {
		r.shares()
	}
	return r.limits
}

// shared marks headers that state shares of windows.
const shared = 1 << len(families)

// find returns which headers there are that state limits, a bit for each family; 0: none.
func find(h http.Header) (found int) {
	for name := range h {
		if len(name) < len("X-Codex-") || name[0] != 'X' && name[0] != 'A' && name[0] != 'R' {
			continue
		}
		switch {
		case strings.HasPrefix(name, unifiedPrefix), strings.HasPrefix(name, codexPrefix):
			found |= shared
			continue
		}
		for i := range families {
			if strings.HasPrefix(name, families[i].prefix) {
				found |= 1 << i
			}
		}
	}
	return found
}

// reading is the state of Append.
type reading struct {
	http.Header
	now, clock time.Time // ours and the provider's
	limits     []Limit
	from       int // where those of the answer begin
}

// value returns a header given by its canonical name.
func (r *reading) value(name string) string {
	if v := r.Header[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// add adds a limit, unless there is one of that name or there are too many.
func (r *reading) add(l Limit) {
	for _, other := range r.limits[r.from:] {
		if other.Name == l.Name {
			return
		}
	}
	if len(r.limits)-r.from < maxLimits {
		r.limits = append(r.limits, l)
	}
}

// counted reads a limit that is stated as numbers.
func (r *reading) counted(s *stated) {
	limit, ok := number(r.value(s.limit))
	if !ok || limit == 0 {
		return
	}
	remaining, ok := number(r.value(s.remaining))
	if !ok || remaining > limit {
		return
	}
	l := Limit{
		Name: s.name, Unit: s.unit, Window: s.window, Limit: limit, Remaining: remaining, Used: 1 - remaining/limit, Seen: r.now,
		Reset: classify.ParseReset(r.value(s.reset), r.clock, r.now),
	}
	if l.Window == 0 {
		l.Window = l.window()
	}
	r.add(l)
}

// number parses a number from 0 to most.
func number(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n >= 0 && n <= most
}

// window infers the window of a limit from when all of it will be there again; 0: that does not tell. What comes
// back little by little is all there after the share of the window that is used.
func (l *Limit) window() time.Duration {
	left := l.Reset.Sub(l.Seen)
	if l.Reset.IsZero() {
		return 0
	}
	if l.Used > 0 {
		if whole := left.Seconds() / l.Used / day.Seconds(); math.Abs(whole-1) < 0.05 {
			return day
		}
	}
	for _, w := range [...]time.Duration{time.Minute, time.Hour, day, 30 * day} {
		if left <= w {
			return w
		}
	}
	return 0
}

// The prefixes of headers that state shares.
const (
	unifiedPrefix = "Anthropic-Ratelimit-Unified-"
	codexPrefix   = "X-Codex-"
)

// shares reads the windows of subscriptions: Anthropic's unified limits, whose utilization is a share, and
// Codex's, in percent.
func (r *reading) shares() {
	for name := range r.Header {
		if label, ok := between(name, unifiedPrefix, "-Utilization"); ok {
			r.unified(label)
		}
		if label, ok := between(name, codexPrefix, "-Used-Percent"); ok {
			r.codex(label)
		}
	}
}

// between returns what of a name is between a prefix and a suffix.
func between(name, prefix, suffix string) (string, bool) {
	if len(name) <= len(prefix)+len(suffix) || !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) {
		return "", false
	}
	return name[len(prefix) : len(name)-len(suffix)], true
}

// unified reads a window of a Claude subscription, such as "5h", "7d" or "7d_opus".
func (r *reading) unified(label string) {
	span, _, _ := strings.Cut(label, "_")
	window := parseWindow(span)
	if window == 0 {
		return
	}
	header := unifiedPrefix + label
	r.share(strings.ToLower(label), window, r.value(header+"-Utilization"), 1, r.value(header+"-Reset"))
}

// codex reads a window of a Codex subscription: "Primary", "Secondary", or that of one model after its name.
func (r *reading) codex(label string) {
	header := codexPrefix + label
	minutes, ok := number(r.value(header + "-Window-Minutes"))
	if !ok || minutes < 1 || minutes > 366*24*60 {
		return
	}
	window := time.Duration(minutes) * time.Minute
	name := windowName(window)
	if model, _, named := strings.Cut(label, "-"); named {
		name += "_" + strings.ToLower(model)
	}
	reset := r.value(header + "-Reset-After-Seconds")
	if reset == "" {
		reset = r.value(header + "-Reset-At")
	}
	r.share(name, window, r.value(header+"-Used-Percent"), 100, reset)
}

// share adds a window of which a share is used, out of whole.
func (r *reading) share(name string, window time.Duration, used string, whole float64, reset string) {
	share, ok := number(used)
	if share /= whole; !ok || share > 2 { // a little above 1 is what overdrawing shows
		return
	}
	r.add(Limit{
		Name: name, Unit: Usage, Window: window, Used: min(share, 1), Seen: r.now, Account: true,
		Reset: classify.ParseReset(reset, r.clock, r.now),
	})
}

// parseWindow parses "5h" or "7d"; 0: it is neither.
func parseWindow(s string) time.Duration {
	if len(s) < 2 || len(s) > 4 {
		return 0
	}
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || n <= 0 {
		return 0
	}
	switch s[len(s)-1] {
	case 'm':
		return time.Duration(n) * time.Minute
	case 'h':
		return time.Duration(n) * time.Hour
	case 'd':
		return time.Duration(n) * day
	}
	return 0
}
