package sdk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/ridethrough/ridethrough/policy"
)

// TestManual_AnthropicWaitsTwoHoursInOneRequest is the client of docs/connect.md.
func TestManual_AnthropicWaitsTwoHoursInOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := anthropic.NewClient(
			option.WithBaseURL("http://127.0.0.1:8484"), // or ANTHROPIC_BASE_URL
			option.WithRequestTimeout(8*time.Hour),      // of a call that is not streamed; else 600 s
		)
		w := newFixture(t, outage(2*time.Hour))
		s := w.gateway(policy.Patient())
		answer, err := client.Messages.New(t.Context(), message(), option.WithHTTPClient(s.client), option.WithAPIKey("test"))
		if err != nil || len(answer.Content) == 0 || w.asked.Load() != 1 {
			t.Errorf("after %d requests: got %+v, error %v; want an answer to the first", w.asked.Load(), answer, err)
		}
	})
}
