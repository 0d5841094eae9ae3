package simulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SpentWindow is a usage window that is spent, such as the five hours of a subscription: every request is refused,
// in the vendor's own headers and words, until it opens again. It begins with the first request that it refuses.
// Only then it is used up.
//
// Without a vendor's own form it is a 429 with Retry-After.
type SpentWindow struct {
	For   time.Duration // until it opens
	opens time.Time     // zero: it begins with this request
}

// fiveHours is the length of the shorter one of a subscription's two windows.
const fiveHours = 5 * time.Hour

// String returns "window:90s".
func (s SpentWindow) String() string { return timed("window", s.For) }

func (s SpentWindow) play(x *exchange) {
	if s.opens.IsZero() {
		s.opens = time.Now().Add(s.For)
	}
	body := ""
	if x.dialect.spent != nil {
		body = x.dialect.spent(x, s)
	}
	if body == "" {
		x.w.Header().Set("Retry-After", s.seconds())
		body = x.failure(http.StatusTooManyRequests)
	}
	x.body(http.StatusTooManyRequests, jsonMedia, body)
}

// left returns how long it takes until the window opens.
func (s SpentWindow) left() time.Duration { return time.Until(s.opens) }

// seconds returns that in whole seconds, so that a client that waits as long is not early.
func (s SpentWindow) seconds() string {
	return strconv.Itoa(int((s.left() + time.Second - 1) / time.Second))
}

// refuse returns the window as it is at a time since the start; false: it is open again, or has been.
func (p *Provider) refuse(s SpentWindow, at time.Duration) (Reply, bool) {
	if p.opens.IsZero() {
		p.opens = p.start.Add(at + s.For)
	}
	if s.opens = p.opens; p.start.Add(at).Before(p.opens) {
		return s, true
	}
	if p.next < len(p.script.Replies) {
		p.opens = time.Time{}
		p.next++
	}
	return nil, false
}

// anthropicSpent returns the error of a Claude subscription, and sets the headers with its two windows.
func anthropicSpent(x *exchange, s SpentWindow) string {
	opens := unix(s.opens)
	spent, other, claim := "5h", "7d", "five_hour"
	if s.For > fiveHours {
		spent, other, claim = "7d", "5h", "seven_day"
	}
	h, name := x.w.Header(), "anthropic-ratelimit-unified-"
	for _, pair := range [][2]string{
		{"status", "rejected"},
		{"reset", opens},
		{"representative-claim", claim},
		{"overage-status", "rejected"},
		{spent + "-status", "rejected"},
		{spent + "-reset", opens},
		{spent + "-utilization", "1.0"},
		{other + "-status", "allowed"},
		{other + "-reset", unix(s.opens.Add(fiveHours))},
		{other + "-utilization", "0.42"},
	} {
		h.Set(name+pair[0], pair[1])
	}
	h.Set("Retry-After", s.seconds())
	return x.failureOf(&problem{status: http.StatusTooManyRequests, message: "This request would exceed your account's rate limit. Please try again later."})
}

// unix formats an instant in Unix seconds.
func unix(t time.Time) string { return strconv.FormatInt(roundUp(t).Unix(), 10) }

// openaiSpent returns the error of a ChatGPT subscription, which Codex knows, or of a day's requests in the older
// APIs.
func openaiSpent(x *exchange, s SpentWindow) string {
	h := x.w.Header()
	if !strings.HasSuffix(x.endpoint.path, "/responses") {
		in := (s.left() + time.Millisecond - 1).Truncate(time.Millisecond).String()
		h.Set("x-ratelimit-limit-requests", "200")
		h.Set("x-ratelimit-remaining-requests", "0")
		h.Set("x-ratelimit-reset-requests", in)
		return x.failureOf(&problem{
			status: http.StatusTooManyRequests,
			message: "Rate limit reached for " + x.call.model + " in organization org-simulator on requests per day (RPD): " +
				"Limit 200, Used 200, Requested 1. Please try again in " + in + ".",
		})
	}
	spent, other := "x-codex-primary-", "x-codex-secondary-"
	if s.For > fiveHours {
		spent, other = other, spent
	}
	h.Set(spent+"used-percent", "100")
	h.Set(spent+"reset-after-seconds", s.seconds())
	h.Set(other+"used-percent", "42")
	h.Set(other+"reset-after-seconds", "302400")
	h.Set("x-codex-primary-window-minutes", "300")
	h.Set("x-codex-secondary-window-minutes", "10080")
	return fmt.Sprintf(`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus",`+
		`"resets_at":%d,"eligible_promo":null,"resets_in_seconds":%s}}`, roundUp(s.opens).Unix(), s.seconds())
}

// geminiSpent returns the error of a day's quota.
func geminiSpent(x *exchange, s SpentWindow) string {
	return x.failureOf(&problem{
		status:  http.StatusTooManyRequests,
		details: geminiWait("GenerateRequestsPerDayPerProjectPerModel", s.left()+time.Second-1),
		message: "You exceeded your current quota, please check your plan and billing details. " +
			"For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
	})
}

// ollamaSpent returns the error of the cloud's window.
func ollamaSpent(x *exchange, s SpentWindow) string {
	x.w.Header().Set("Retry-After", s.seconds())
	return x.failureOf(&problem{
		status: http.StatusTooManyRequests, message: "you've reached your session usage limit, please wait or upgrade to continue",
	})
}
