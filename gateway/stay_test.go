package gateway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// A client with a limit of its own leaves, and sends the request again a second later.
func TestStay_ClientThatComesBackIsAnsweredInItsStay(t *testing.T) {
	tests := []struct {
		name   string
		stay   time.Duration
		stays  int // after which it gives up
		outage time.Duration
		path   string
		body   string
		agent  string
		within time.Duration // of the end of the outage
	}{
		{"Qwen Code 0.24.4", 15 * time.Minute, 3, 40 * time.Minute, chat, gpt, qwenCode, 5 * time.Minute},
		{"openai-node 7, not streamed", 10 * time.Minute, 3, 17 * time.Minute, chat, whole(gpt), "OpenAI/JS 7.57.0", 200 * time.Second},
		{"a limit of five minutes, which ended a little early", 5*time.Minute - 30*time.Millisecond, 10, 40 * time.Minute, chat, whole(gpt), plainSDK, 100 * time.Second},
		{"a proxy that waits for a minute", time.Minute, 99, 25 * time.Minute, chat, gpt, plainSDK, 6*time.Minute + 45*time.Second}, // the policy's own
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(tt.outage))
			status, asked := w.askFor(tt.stay, tt.path, tt.body, "User-Agent", tt.agent)
			late := time.Since(w.begun) - tt.outage
			if status != 200 || asked > tt.stays || late > tt.within+15*time.Second {
				t.Errorf("%s: status %d for its request %d, %v after the outage; want 200 within %v and 15 s, for one of %d requests",
					tt.name, status, asked, late, tt.within, tt.stays)
			}
		})
	}
}

// What bounds the number of tries, or the provider's own word, is not overruled.
func TestStay_OtherWaitsAreNotShortened(t *testing.T) {
	limited := policy.Patient()
	limited.Retries = 9
	for _, tt := range []struct {
		name    string
		policy  policy.Policy
		replies string
		stay    time.Duration
		tries   int // in two stays
	}{
		{"the provider asked for it", policy.Patient(), "429;retry-after=3000", 7 * time.Minute, 1}, // it is asked again after 15 minutes
		{"a number of retries", limited, "529*9", 15 * time.Minute, 7},
		{"no bound", policy.Patient(), "529*99", 15 * time.Minute, 9},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, tt.policy, simulator.Script{Replies: replies(t, tt.replies)})
			w.leaveAfter(tt.stay, chat, gpt)
			time.Sleep(time.Second) // the gateway has noticed that
			w.leaveAfter(tt.stay, chat, gpt)
			if n := len(w.provider.Requests()); n != tt.tries {
				t.Errorf("%s: %d tries in two stays of %v, want %d", tt.name, n, tt.stay, tt.tries)
			}
		})
	}
}
