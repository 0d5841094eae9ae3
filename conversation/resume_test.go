package conversation_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// TestRunner_CompletesText lets an answer break off. In a short wait its worker asks for the rest. In a
// long one the turn is parked, and the worker that takes it asks again from the beginning: readers drop what
// they have.
func TestRunner_CompletesText(t *testing.T) {
	const half = "The circuit opens when five tries in a row have failed, and then"
	const whole = half + " it closes."
	cut := &fault.Error{Kind: fault.Truncated, Status: 200, Message: "the answer broke off"}
	for name, row := range map[string]struct {
		parkAfter time.Duration
		second    string
		restarts  int
	}{
		"short": {time.Hour, "in a row have failed, and then it closes.", 0},
		"long":  {time.Second, whole, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, llmtest.Breaks(half, cut), llmtest.Says(row.second))
			h.config.ParkAfter = row.parkAfter
			plain := h.config.Agent
			h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
				a, err := plain(ctx, s)
				a.CompleteText = true
				return a, err
			}
			runner, _ := h.runner()
			c := h.create(runner)
			read := make(chan []string, 1)
			go func() { read <- follow(t, runner, c, 0, 1) }()
			synctest.Wait()
			h.say(runner, c, "go")
			all := strings.Join(<-read, "\n")
			if !strings.Contains(all, "sealed done") || strings.Count(all, "turn-restarted") != row.restarts || !strings.Contains(all, ": "+whole) {
				t.Errorf("%s: got %s\nwant %q, and %d restarts", name, all, whole, row.restarts)
			}
		})
	}
}
