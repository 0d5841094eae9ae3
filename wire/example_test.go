package wire_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

func ExampleEvent_MarshalJSON() {
	limited := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: `{"error":{"code":"rate_limit_exceeded"}}`}
	text, _ := json.Marshal(wire.Event{
		Seq:  1,
		Time: time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC),
		Body: wire.Turn{Ref: wire.Ref{TurnID: "17"}, Event: turn.Retry{
			Name: llm.Name{Provider: "openai", Model: "gpt-5"}, Upstream: "work",
			Wait: policy.Wait{Run: policy.Run{Tries: 1}, Fault: limited, Verdict: policy.Verdict{Wait: 5 * time.Second}, Limit: policy.Unlimited},
		}},
	})
	fmt.Println(string(text))
	// Output:
	// {"v":1,"seq":1,"ts":"2026-11-02T12:00:00Z","type":"provider-retry","conversationId":"","turnId":"17","provider":"openai","model":"gpt-5","upstream":"work","attempt":0,"delayMs":5000,"message":"HTTP 429: {\"error\":{\"code\":\"rate_limit_exceeded\"}}","code":"429","kind":"rate-limited","reason":"schedule"}
}

// A reader skips what it does not know.
func ExampleEvent_UnmarshalJSON() {
	for _, line := range []string{
		`{"v":1,"seq":8,"ts":"2026-11-02T12:00:00Z","type":"provider-recovered","turnId":"17","retries":3,"waitedMs":22000}`,
		`{"v":1,"seq":9,"ts":"2026-11-02T12:00:01Z","type":"tea-time","cups":2}`,
	} {
		var e wire.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		switch b := e.Body.(type) {
		case wire.Turn:
			r := b.Event.(turn.Recovered)
			fmt.Println(e.Seq, b.TurnID, r.Retries, r.Waited)
		default:
			fmt.Println(e.Seq, "skipped", wire.Type(b))
		}
	}
	// Output:
	// 8 17 3 22s
	// 9 skipped tea-time
}
