package classify_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// unixAfter is an instant after start in Unix seconds.
func unixAfter(d time.Duration) string { return strconv.FormatInt(start.Add(d).Unix(), 10) }

// codexSpent is the error of a ChatGPT subscription.
func codexSpent(members string) string {
	return `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus",` + members + `}}`
}

func TestFromResponse_UsageWindows(t *testing.T) {
	const h, m = time.Hour, time.Minute
	unified := func(pairs ...string) http.Header {
		return headers(append([]string{"anthropic-ratelimit-unified-status", "rejected"}, pairs...)...)
	}
	limited := anthropicBody("rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
	daily := google("RESOURCE_EXHAUSTED", currentSaid, dayQuota+`,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36000s"}`)
	tests := []struct {
		name   string
		header http.Header
		body   string
		want   time.Duration // until it opens; 0: it is no window
	}{
		{"claude, five hours", unified("anthropic-ratelimit-unified-reset", unixAfter(3*h)), limited, 3 * h},
		{"claude, the named window alone", headers("anthropic-ratelimit-unified-5h-status", "rejected", "anthropic-ratelimit-unified-5h-reset", unixAfter(3*h)), limited, 3 * h},
		{"claude, the end of a window", unified("anthropic-ratelimit-unified-reset", unixAfter(90*time.Second)), limited, 90 * time.Second},
		{"claude, a week", unified("anthropic-ratelimit-unified-reset", unixAfter(100*h), "retry-after", "360000"), limited, 100 * h},
		{"claude, not to be asked again at once", unified("anthropic-ratelimit-unified-reset", unixAfter(3*h), "x-should-retry", "false"), limited, 3 * h},
		{"claude, what was bought besides", unified("anthropic-ratelimit-unified-reset", unixAfter(3*h), "anthropic-ratelimit-unified-overage-status", "rejected", "anthropic-ratelimit-unified-overage-reset", unixAfter(400*h)), limited, 3 * h},
		{"codex, seconds", nil, codexSpent(`"resets_in_seconds":7200`), 2 * h},
		{"codex, an instant", nil, codexSpent(`"resets_at":` + unixAfter(2*h)), 2 * h},
		{"codex, headers", headers("x-codex-primary-used-percent", "100", "x-codex-primary-reset-at", unixAfter(2*h), "x-codex-secondary-used-percent", "40", "x-codex-secondary-reset-at", unixAfter(90*h)), codexSpent(`"plan_type":"plus"`), 2 * h},
		{"gemini, a day", nil, daily, 10 * h},
		{"a long throttle", headers("retry-after", "3600"), limited, h},

		{"claude, no reset", unified(), limited, 0},
		{"claude, reset 0", unified("anthropic-ratelimit-unified-reset", "0"), limited, 0},
		{"claude, negative reset", unified("anthropic-ratelimit-unified-reset", "-5"), limited, 0},
		{"claude, reset in words", unified("anthropic-ratelimit-unified-reset", "soon"), limited, 0},
		{"claude, absurd reset", unified("anthropic-ratelimit-unified-reset", "99999999999"), limited, 0},
		{"claude, past reset", unified("anthropic-ratelimit-unified-reset", unixAfter(-h)), limited, 0},
		{"codex, 0 seconds", nil, codexSpent(`"resets_in_seconds":0`), 0},
		{"codex, negative", nil, codexSpent(`"resets_in_seconds":-3,"resets_at":-1`), 0},
		{"an empty account", headers("retry-after", "3600"), anthropicBody("billing_error", "Top up"), 0},
		{"a minute's limit", headers("retry-after", "30"), limited, 0},
		{"a day's limit that lets the next request pass", nil, anthropicBody("rate_limit_error", "requests per day (RPD): Please try again in 8.64s."), 0},

		{"contradiction: the sooner one", unified("anthropic-ratelimit-unified-reset", unixAfter(20*m), "retry-after", "18000"), limited, 20 * m},
		{"contradiction: the sooner one is the wait", unified("anthropic-ratelimit-unified-reset", unixAfter(5*h), "retry-after", "1200"), limited, 20 * m},
		{"their clock is hours ahead", unified("anthropic-ratelimit-unified-reset", unixAfter(8*h), "date", "Tue, 03 Nov 2026 02:00:00 GMT"), limited, 3 * h},
		{"their clock is hours behind", unified("anthropic-ratelimit-unified-reset", unixAfter(-h), "date", "Mon, 02 Nov 2026 18:00:00 GMT"), limited, 2 * h},
		{"their clock is ahead, the reset in the body", headers("date", "Tue, 03 Nov 2026 02:00:00 GMT"), codexSpent(`"resets_at":` + unixAfter(8*h)), 3 * h},
		{"their clock is absurd", unified("anthropic-ratelimit-unified-reset", unixAfter(3*h), "date", "Thu, 01 Jan 1970 00:00:00 GMT"), limited, 3 * h},
	}
	for _, tt := range tests {
		f := classify.FromResponse(http.StatusTooManyRequests, tt.header, []byte(tt.body), start)
		if f.Window != (tt.want > 0) || f.Window && (!f.ResetAt.Equal(start.Add(tt.want)) || f.RetryAfter(start) != tt.want || f.Final) {
			t.Errorf("%s: %v by %s, window %t, opens at %v, in %v, final %t; want in %v",
				tt.name, f.Kind, f.Rule, f.Window, f.ResetAt, f.RetryAfter(start), f.Final, tt.want)
		}
		if short := tt.want > 0 && tt.want <= 15*m; f.Window && (f.Kind == fault.RateLimited) != short {
			t.Errorf("%s: %v, want a rate limit for a window that opens within 15 minutes, else a quota", tt.name, f.Kind)
		}
	}
}

func TestFromEvent_UsageWindowOfCodex(t *testing.T) {
	event := `{"type":"error","error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_in_seconds":7200}}`
	if f := classify.FromEvent([]byte(event), start); !f.Window || !f.ResetAt.Equal(start.Add(2*time.Hour)) {
		t.Errorf("%v, window %t, opens at %v; want a window that opens in two hours", f.Kind, f.Window, f.ResetAt)
	}
}
