package sdk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// An answer that breaks off in its reasoning or in a tool call, and two hours of outage after that, end in one whole
// answer that each SDK reads.
func TestSDK_BrokenAnswerIsCompleted(t *testing.T) {
	const reasoning, inCall = `think:"Let me see."+cut:2`, `call:list{"path":"a b"}+cut:1`
	whole := []call{messagesNewStreaming, chatNewStreaming, azureNewStreaming, responsesNewStreaming} // others have a call in one piece
	for words, some := range map[string][]call{reasoning: streams, inCall: whole} {
		for _, c := range some {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				want := healthy(ctx, t, c)
				s := script(t, words)
				s.Outages = []simulator.Outage{{From: time.Second, To: 2 * time.Hour}}
				w := newFixture(t, s)
				got, err := c.ask(ctx, w.gateway(policy.Patient()))
				if err != nil || got.Text != want.Text || got.Stop != want.Stop || w.took() < 2*time.Hour || w.asked.Load() != 1 {
					t.Errorf("%s, %s: got %+v for request %d after %v, error %v, want %+v after two hours", c.name, words, got, w.asked.Load(), w.took(), err, want)
				}
			})
		}
	}
}
