package sdk_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// The cases are openai-go's own, of its TestRetryAfterServerMinimum, TestParseRetryAfterHeaderBoundsRemoteDelays
// and TestRetryDelayFallback: what the SDK would not obey by itself must not be read as no wait at all.
func TestOpenAISDK_RetryAfterCases(t *testing.T) {
	const step = time.Millisecond // the policy's own wait
	seconds, millis := "Retry-After", "Retry-After-Ms"
	for _, tt := range []struct {
		name   string
		header []string
		waits  time.Duration // 0: the error comes back at once
	}{
		{"milliseconds", []string{millis, "125"}, 125 * time.Millisecond},
		{"fractional seconds", []string{seconds, "0.25"}, 250 * time.Millisecond},
		{"seconds", []string{seconds, "30"}, 30 * time.Second},
		{"milliseconds take priority", []string{millis, "30000", seconds, "121"}, 30 * time.Second},
		{"over the SDK's default", []string{seconds, "120.001"}, 120001 * time.Millisecond},
		{"invalid preferred header falls back", []string{millis, "-1", seconds, "0.5"}, 500 * time.Millisecond},
		{"a date in an hour", []string{seconds, "Sat, 01 Jan 2000 01:00:00 GMT"}, time.Hour},
		{"finite duration overflow", []string{seconds, "1e100"}, 0},
		{"numeric overflow", []string{seconds, "1e1000"}, 0},
		{"finite scaling overflow", []string{seconds, "2" + strings.Repeat("0", 299)}, 0},
		{"millisecond overflow does not fall back", []string{millis, "1e1000", seconds, "0"}, 0},
		{"a year", []string{seconds, "31536000"}, 0},
		{"zero", []string{seconds, "0"}, step},
		{"zero milliseconds", []string{millis, "0"}, step},
		{"past date", []string{seconds, "Fri, 31 Dec 1999 23:00:00 GMT"}, step},
		{"negative", []string{seconds, "-1"}, step},
		{"negative overflow", []string{seconds, "-1e1000"}, step},
		{"not a number", []string{seconds, "NaN"}, step},
		{"infinite", []string{seconds, "+Inf"}, step},
		{"words", []string{seconds, "invalid"}, step},
	} {
		h := http.Header{}
		for i := 0; i < len(tt.header); i += 2 {
			h.Set(tt.header[i], tt.header[i+1])
		}
		for _, way := range ways {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					want := healthy(t.Context(), t, chatNew)
					w := newFixture(t, simulator.Script{Replies: []simulator.Reply{simulator.Status{Code: 429, Header: h}}})
					p := policy.Patient()
					p.Backoff = policy.Backoff{Steps: []time.Duration{step}}
					got, err := chatNew.ask(t.Context(), way.to(w, p))
					if tt.waits > 0 {
						if err != nil || got.anonymous() != want {
							t.Errorf("answer %+v, error %v; want %+v", got, err, want)
						}
						waits := tt.waits
						if way.name == "gateway" { // whose breaker asks once meanwhile: docs/adr/0022-usage-windows-have-their-own-wait.md
							waits = min(waits, 15*time.Minute)
						}
						w.check(2, waits)
						return
					}
					stated := tt.header[1]
					if way.name == "gateway" { // SDKs of other vendors would sleep it out before they return the error
						stated = ""
					}
					r := reasonOf(err)
					if r.Status != 429 || r.header.Get(tt.header[0]) != stated {
						t.Errorf("error %v with %s: %q; want status 429 and %q", err, tt.header[0], r.header.Get(tt.header[0]), stated)
					}
					w.check(1, 0)
				})
			})
		}
	}
}
