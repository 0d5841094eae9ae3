package ratelimit_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ridethrough/ridethrough/ratelimit"
)

var now = time.Date(2026, 11, 2, 21, 0, 0, 0, time.UTC)

// headers returns headers from names and values in turn.
func headers(nv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(nv); i += 2 {
		h.Set(nv[i], nv[i+1])
	}
	return h
}

// lines returns headers from a text as curl -i shows them.
func lines(text string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		h.Add(name, strings.TrimSpace(value))
	}
	return h
}

// Answers of the vendors, as their documentation and their clients' issues show them.
const (
	anthropicAnswer = `date: Mon, 02 Nov 2026 21:00:00 GMT
		anthropic-ratelimit-requests-limit: 4000
		anthropic-ratelimit-requests-remaining: 3999
		anthropic-ratelimit-requests-reset: 2026-11-02T21:00:01Z
		anthropic-ratelimit-input-tokens-limit: 450000
		anthropic-ratelimit-input-tokens-remaining: 40000
		anthropic-ratelimit-input-tokens-reset: 2026-11-02T21:00:55Z
		anthropic-ratelimit-output-tokens-limit: 90000
		anthropic-ratelimit-output-tokens-remaining: 90000
		anthropic-ratelimit-output-tokens-reset: 2026-11-02T21:00:00Z
		anthropic-ratelimit-tokens-limit: 540000
		anthropic-ratelimit-tokens-remaining: 130000
		anthropic-ratelimit-tokens-reset: 2026-11-02T21:00:55Z
		request-id: req_011`
	claudeAnswer = `date: Mon, 02 Nov 2026 21:00:00 GMT
		anthropic-ratelimit-unified-status: allowed_warning
		anthropic-ratelimit-unified-reset: 1793660400
		anthropic-ratelimit-unified-representative-claim: five_hour
		anthropic-ratelimit-unified-5h-status: allowed_warning
		anthropic-ratelimit-unified-5h-reset: 1793660400
		anthropic-ratelimit-unified-5h-utilization: 0.91
		anthropic-ratelimit-unified-7d-status: allowed
		anthropic-ratelimit-unified-7d-reset: 1793700000
		anthropic-ratelimit-unified-7d-utilization: 0.25
		anthropic-ratelimit-unified-7d_opus-utilization: 1.02
		anthropic-ratelimit-unified-overage-status: rejected
		anthropic-ratelimit-unified-fallback-percentage: 0.5`
	openAIAnswer = `x-ratelimit-limit-requests: 60
		x-ratelimit-limit-tokens: 150000
		x-ratelimit-remaining-requests: 59
		x-ratelimit-remaining-tokens: 75000
		x-ratelimit-reset-requests: 1s
		x-ratelimit-reset-tokens: 30s
		openai-processing-ms: 12`
	groqAnswer = `x-ratelimit-limit-requests: 14400
		x-ratelimit-limit-tokens: 18000
		x-ratelimit-remaining-requests: 14370
		x-ratelimit-remaining-tokens: 17997
		x-ratelimit-reset-requests: 2m59.56s
		x-ratelimit-reset-tokens: 7.66ms`
	azureAnswer = `x-ratelimit-limit-requests: 100
		x-ratelimit-remaining-requests: 99
		x-ratelimit-reset-requests: 60
		x-ratelimit-limit-tokens: 100000
		x-ratelimit-remaining-tokens: 99000
		x-ratelimit-reset-tokens: 60
		x-ms-region: Sweden Central`
	mistralAnswer = `x-ratelimit-limit-req-minute: 300
		x-ratelimit-remaining-req-minute: 299
		x-ratelimit-limit-tokens-minute: 500000
		x-ratelimit-remaining-tokens-minute: 499990
		x-ratelimit-limit-tokens-month: 1000000000
		x-ratelimit-remaining-tokens-month: 999000000
		x-ratelimit-tokens-query-cost: 10`
	openRouterAnswer = `x-ratelimit-limit: 20
		x-ratelimit-remaining: 0
		x-ratelimit-reset: 1793653230000`
	codexAnswer = `x-codex-primary-used-percent: 96
		x-codex-primary-window-minutes: 300
		x-codex-primary-reset-after-seconds: 3600
		x-codex-secondary-used-percent: 12
		x-codex-secondary-window-minutes: 10080
		x-codex-secondary-reset-at: 1793700000
		x-codex-bengalfox-primary-used-percent: 3
		x-codex-bengalfox-primary-window-minutes: 300`
)

func TestAppend_ReadsTheVendors(t *testing.T) {
	const minute, hour, day = time.Minute, time.Hour, 24 * time.Hour
	in := func(d time.Duration) time.Time { return now.Add(d) }
	counted := func(name string, u ratelimit.Unit, window time.Duration, limit, remaining float64, reset time.Time) ratelimit.Limit {
		return ratelimit.Limit{Name: name, Unit: u, Window: window, Limit: limit, Remaining: remaining, Used: 1 - remaining/limit, Reset: reset}
	}
	share := func(name string, window time.Duration, used float64, reset time.Time) ratelimit.Limit {
		return ratelimit.Limit{Name: name, Unit: ratelimit.Usage, Window: window, Used: used, Reset: reset, Account: true}
	}
	for _, tt := range []struct {
		vendor, answer string
		want           []ratelimit.Limit
	}{
		{"Anthropic", anthropicAnswer, []ratelimit.Limit{
			counted("input-tokens", ratelimit.InputTokens, minute, 450000, 40000, in(55*time.Second)),
			counted("output-tokens", ratelimit.OutputTokens, minute, 90000, 90000, time.Time{}),
			counted("requests", ratelimit.Requests, minute, 4000, 3999, in(time.Second)),
			counted("tokens", ratelimit.Tokens, minute, 540000, 130000, in(55*time.Second)),
		}},
		{"Claude", claudeAnswer, []ratelimit.Limit{
			share("5h", 5*hour, 0.91, in(2*hour)), share("7d", 7*day, 0.25, in(13*hour)), share("7d_opus", 7*day, 1, time.Time{}),
		}},
		{"OpenAI", openAIAnswer, []ratelimit.Limit{
			counted("requests", ratelimit.Requests, minute, 60, 59, in(time.Second)),
			counted("tokens", ratelimit.Tokens, minute, 150000, 75000, in(30*time.Second)),
		}},
		{"Groq, whose requests are of a day", groqAnswer, []ratelimit.Limit{
			counted("requests", ratelimit.Requests, day, 14400, 14370, in(179560*time.Millisecond)),
			counted("tokens", ratelimit.Tokens, minute, 18000, 17997, in(7660*time.Microsecond)),
		}},
		{"Azure", azureAnswer, []ratelimit.Limit{
			counted("requests", ratelimit.Requests, minute, 100, 99, in(minute)),
			counted("tokens", ratelimit.Tokens, minute, 100000, 99000, in(minute)),
		}},
		{"Mistral", mistralAnswer, []ratelimit.Limit{
			counted("requests", ratelimit.Requests, minute, 300, 299, time.Time{}),
			counted("tokens", ratelimit.Tokens, minute, 500000, 499990, time.Time{}),
			counted("tokens-month", ratelimit.Tokens, 30*day, 1e9, 999e6, time.Time{}),
		}},
		{"OpenRouter", openRouterAnswer, []ratelimit.Limit{counted("requests", ratelimit.Requests, minute, 20, 0, in(30*time.Second))}},
		{"Codex", codexAnswer, []ratelimit.Limit{
			share("5h", 5*hour, 0.96, in(hour)), share("5h_bengalfox", 5*hour, 0.03, time.Time{}), share("7d", 7*day, 0.12, in(13*hour)),
		}},
		{"Gemini, which states none", "server-timing: gfet4t7; dur=612\nx-gemini-service-tier: standard", nil},
	} {
		got := ratelimit.Append(nil, lines(tt.answer), now)
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(ratelimit.Limit{}, "Seen"), byName, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: limits (-want +got)\n%s", tt.vendor, diff)
		}
	}
}

var byName = cmpopts.SortSlices(func(a, b ratelimit.Limit) bool { return a.Name < b.Name })

// An instant is of the provider's clock, which may be wrong.
func TestAppend_MovesResetsToOurClock(t *testing.T) {
	got := ratelimit.Append(nil, headers("Date", "Mon, 02 Nov 2026 21:10:00 GMT", "anthropic-ratelimit-requests-limit", "50",
		"anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2026-11-02T21:10:09Z"), now)
	if len(got) != 1 || !got[0].Reset.Equal(now.Add(9*time.Second)) {
		t.Errorf("got %+v, want one limit that resets in 9 s", got)
	}
}

func TestAppend_RefusesTheAbsurd(t *testing.T) {
	for _, tt := range []struct{ limit, remaining string }{
		{"0", "0"},
		{"-1", "0"},
		{"100", "-1"},
		{"100", "101"},
		{"100", ""},
		{"", "100"},
		{"NaN", "1"},
		{"100", "NaN"},
		{"Inf", "1"},
		{"1e300", "1"},
		{"many", "few"},
		{"99999999999999999999", "1"},
	} {
		h := headers("x-ratelimit-limit-tokens", tt.limit, "x-ratelimit-remaining-tokens", tt.remaining, "x-ratelimit-reset-tokens", "1s")
		if got := ratelimit.Append(nil, h, now); len(got) != 0 {
			t.Errorf("limit %q, remaining %q: got %+v, want none", tt.limit, tt.remaining, got)
		}
	}
	for _, h := range []http.Header{
		headers("anthropic-ratelimit-unified-5h-utilization", "-0.1"),
		headers("anthropic-ratelimit-unified-5h-utilization", "17"),
		headers("anthropic-ratelimit-unified-0h-utilization", "0.5"),
		headers("anthropic-ratelimit-unified-utilization", "0.5"),
		headers("x-codex-primary-used-percent", "50"),
		headers("x-codex-primary-used-percent", "50", "x-codex-primary-window-minutes", "1e12"),
	} {
		if got := ratelimit.Append(nil, h, now); len(got) != 0 {
			t.Errorf("%v: got %+v, want none", h, got)
		}
	}
}

func TestLimit_IsWholeAfterItsReset(t *testing.T) {
	l := ratelimit.Limit{Window: time.Minute, Limit: 100, Remaining: 10, Used: 0.9, Seen: now, Reset: now.Add(30 * time.Second)}
	unstated := l
	unstated.Reset = time.Time{}
	for _, tt := range []struct {
		limit ratelimit.Limit
		after time.Duration
		want  float64
	}{
		{l, 29 * time.Second, 10}, {l, 30 * time.Second, 100}, {unstated, 59 * time.Second, 10}, {unstated, time.Minute, 100},
	} {
		if got := tt.limit.At(now.Add(tt.after)); got.Remaining != tt.want || got.Used != 1-tt.want/100 {
			t.Errorf("after %v: %v remaining, %v used; want %v", tt.after, got.Remaining, got.Used, tt.want)
		}
	}
}

// Without limits, an answer costs a look at the names of its headers.
func TestAppend_AllocatesNothingWithoutLimits(t *testing.T) {
	h := lines("date: Mon, 02 Nov 2026 21:00:00 GMT\ncontent-type: text/event-stream\nx-request-id: 7\nalt-svc: h3\nserver: nginx\nx-frame-options: DENY")
	table := ratelimit.Table{Clock: &still{now: now}}
	if n := testing.AllocsPerRun(100, func() { table.Observe(&ratelimit.Call{Key: ratelimit.Key{Upstream: "u"}}, 200, h) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Whatever headers say, a reading of them makes sense.
func FuzzAppend(f *testing.F) {
	for _, answer := range []string{anthropicAnswer, claudeAnswer, openAIAnswer, groqAnswer, azureAnswer, mistralAnswer, openRouterAnswer, codexAnswer} {
		f.Add(answer)
	}
	f.Add("x-ratelimit-limit-tokens: 1e13\nx-ratelimit-remaining-tokens: 1e-300\nx-ratelimit-reset-tokens: 1e9\ndate: Thu, 01 Jan 1970 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range ratelimit.Append(nil, lines(text), now) {
			switch until := l.Reset.Sub(now); {
			case l.Name == "", l.Unit == "", !l.Seen.Equal(now), l.Window < 0:
			case (l.Unit == ratelimit.Usage) != (l.Limit == 0):
			case !(l.Remaining >= 0 && l.Remaining <= l.Limit), !(l.Used >= 0 && l.Used <= 1), math.IsInf(l.Limit, 0):
			case !l.Reset.IsZero() && (until <= 0 || until > 401*24*time.Hour):
			default:
				continue
			}
			t.Errorf("%q: %+v makes no sense", text, l)
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	for _, bb := range []struct{ name, answer string }{
		{"none", "date: Mon, 02 Nov 2026 21:00:00 GMT\ncontent-type: text/event-stream\nx-request-id: 7\nalt-svc: h3\nserver: nginx\nx-frame-options: DENY"},
		{"Anthropic", anthropicAnswer},
		{"OpenAI", openAIAnswer},
		{"Claude", claudeAnswer},
	} {
		b.Run(bb.name, func(b *testing.B) {
			h := lines(bb.answer)
			table := ratelimit.Table{Clock: &still{now: now}}
			b.ReportAllocs()
			for b.Loop() {
				table.Observe(&ratelimit.Call{Key: ratelimit.Key{Upstream: "u"}}, 200, h)
			}
		})
	}
}
