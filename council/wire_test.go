package council_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/wire"
)

// bodies returns the events of a council as they go over the wire, without those
// of its first moment, in which members begin in any order.
func bodies(ctx context.Context, c council.Council) (lines []string) {
	began := time.Now()
	c.OnEvent = func(e council.Event) {
		if e.Started == nil && time.Since(began) == 0 {
			return
		}
		b := council.Body("k1", e)
		text, _ := wire.Marshal(b)
		lines = append(lines, wire.Type(b)+" "+string(text))
	}
	_, _ = c.Run(ctx, "Is it so?")
	return lines
}

func TestBody_WireFormOfEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := council.Council{
			Members: []agent.Agent{
				member("a", fails(time.Second, busy), says(time.Second, "yes")), member("b", says(2*time.Second, "no")), member("c", llmtest.Hangs()),
			},
			Aggregator: member("judge", says(time.Second, "so")), Grace: 5 * time.Second,
		}
		want := []string{
			`council-start {"conversationId":"","turnId":"k1","members":["a/large","b/large","c/large"],"judge":"judge/large","quorum":2,"budgetMs":270000,"reserveMs":30000,"graceMs":5000,"judgeBudgetMs":120000,"capMs":420000}`,
			`council-member {"conversationId":"","turnId":"k1","provider":"a","model":"large","member":0,"state":"waiting","tries":1,"tookMs":1000,"remainingMs":269000,"delayMs":1500,"reason":"schedule","kind":"overloaded","code":"529","message":"HTTP 529: busy: a secret of the provider"}`,
			`council-member {"conversationId":"","turnId":"k1","provider":"b","model":"large","member":1,"state":"answered","tries":1,"tookMs":2000,"remainingMs":268000,"answer":"no"}`,
			`council-member {"conversationId":"","turnId":"k1","provider":"a","model":"large","member":0,"state":"asking","tries":2,"tookMs":2500,"remainingMs":267500,"kind":"overloaded","code":"529","message":"HTTP 529: busy: a secret of the provider"}`,
			`council-member {"conversationId":"","turnId":"k1","provider":"a","model":"large","member":0,"state":"answered","tries":2,"tookMs":3500,"remainingMs":266500,"kind":"overloaded","code":"529","message":"HTTP 529: busy: a secret of the provider","answer":"yes"}`,
			`council-quorum {"conversationId":"","turnId":"k1","answered":2,"asking":1,"waiting":0,"graceMs":5000}`,
			`council-member {"conversationId":"","turnId":"k1","provider":"c","model":"large","member":2,"state":"cut-off","tries":1,"tookMs":8500,"remainingMs":261500,"reason":"grace"}`,
			`turn-start {"conversationId":"","turnId":"k1"}`,
			`text-delta {"conversationId":"","turnId":"k1","text":"so"}`,
			`assistant-message {"conversationId":"","turnId":"k1","provider":"judge","model":"large","content":[{"type":"text","text":"so"}],"reason":"stop"}`,
			`usage {"conversationId":"","turnId":"k1","provider":"judge","model":"large","input":10,"output":1}`,
			`turn-sealed {"conversationId":"","turnId":"k1","status":"done","retryCount":0,"totalRetryDelayMs":0,"timeToFirstTokenMs":1000,"durationMs":1000,"inputTokens":10,"outputTokens":1}`,
			`council-end {"conversationId":"","turnId":"k1","status":"done","answered":2,"failed":0,"cutOff":1,"tookMs":9500}`,
		}
		if diff := cmp.Diff(want, bodies(t.Context(), c)); diff != "" {
			t.Errorf("unexpected result, diff:\n%s", diff)
		}
	})
}

func TestBody_ReasonOfWaitOrCutOff(t *testing.T) {
	reasons := map[string]string{}
	note := func(e council.Event) {
		if m, ok := council.Body("", e).(wire.CouncilMember); ok && m.Reason != "" {
			reasons[m.Provider+" "+m.State] = m.Reason
		}
	}
	bubble(t, func(t *testing.T) {
		hinted := *busy
		hinted.Wait = 20 * time.Second
		c := council.Council{
			Members: []agent.Agent{member("hint", fails(1, &hinted), llmtest.Hangs()), member("held"), member("b", says(1, "so"))},
			Cap:     time.Hour, Breakers: &breaker.Set{}, OnEvent: note,
		}
		c.Breakers.Of("held").Pause("a test")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Run(ctx, "?")
		if err == nil {
			t.Error("it was not stopped")
		}
	})
	bubble(t, func(t *testing.T) {
		c := three(member("cap", llmtest.Hangs()))
		c.Quorum, c.Cap, c.AggregatorBudget, c.OnEvent = 3, 3*time.Second, time.Second, note
		_, _ = c.Run(t.Context(), "?")
	})
	want := map[string]string{"hint waiting": "hint", "hint cut-off": "stopped", "held waiting": "breaker", "held cut-off": "stopped", "cap cut-off": "cap"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("unexpected result, diff:\n%s", diff)
	}
}

func TestBody_EndHasTheErrorWithoutKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		leak := *denied
		leak.Message = "wrong key: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
		c := three(member("a", llmtest.Fails(&leak)))
		c.Members[1] = member("b", llmtest.Fails(&leak))
		var end wire.CouncilEnd
		c.OnEvent = func(e council.Event) { end, _ = council.Body("k1", e).(wire.CouncilEnd) }
		_, _ = c.Run(t.Context(), "?")
		const want = "1 of 3 members answered, and 2 are needed: a/large failed in 1 try: HTTP 401: wrong key: ***; b/large failed in 1 try: HTTP 401: wrong key: ***"
		if end.Status != "failed" || end.Failed != 2 || end.Message != want {
			t.Errorf("end %+v", end)
		}
	})
}
