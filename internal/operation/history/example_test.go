package history_test

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ridethrough/ridethrough/retry"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

func ExampleHistory_Incidents() {
	h := history.Open("", slog.Default())
	at := time.Date(2026, time.November, 2, 15, 3, 0, 0, time.UTC)
	for n := range 4 {
		e := gateway.Event{At: at.Add(time.Duration(n) * time.Minute), Call: gateway.Call{ID: 1, Upstream: "anthropic", Model: "opus"}}
		e.Try = retry.Try{N: 1, Start: e.At}
		if n < 3 {
			e.Try.Fault = &fault.Error{Kind: fault.Overloaded, Status: 529}
		}
		h.Watch(&e)
	}
	for _, in := range h.Incidents(at.Add(time.Hour)) {
		fmt.Println(in.ID, in.Failures, in.Ended.Sub(in.Began))
	}
	// Output: 20261102-150300-anthropic 3 3m0s
}

func ExampleHistory_Upstream() {
	h := history.Open("", slog.Default())
	now := time.Date(2026, time.November, 2, 15, 3, 0, 0, time.UTC)
	h.Watch(&gateway.Event{
		At: now, Call: gateway.Call{ID: 1, Upstream: "anthropic", Model: "opus", Stream: true},
		Try: retry.Try{N: 1, Start: now.Add(-time.Second), Took: time.Second},
	})
	m := h.Upstream("anthropic", now)
	fmt.Println(m.Samples, m.First.Round(100*time.Millisecond))
	// Output: 1 1s
}

func ExampleHistory_Health() {
	h := history.Open("", slog.Default())
	now := time.Date(2026, time.November, 2, 15, 3, 0, 0, time.UTC)
	tried := func(model string, f *fault.Error) {
		h.Watch(&gateway.Event{
			At: now, Call: gateway.Call{ID: 1, Upstream: "anthropic", Model: model}, Try: retry.Try{N: 1, Start: now, Fault: f},
		})
	}
	for range 3 {
		tried("opus", &fault.Error{Kind: fault.Overloaded, Status: 529})
	}
	fmt.Println(h.Health("anthropic", breaker.State{}, now))
	tried("haiku", nil)
	fmt.Println(h.Health("anthropic", breaker.State{}, now))
	tried("opus", nil)
	fmt.Println(h.Health("anthropic", breaker.State{}, now))
	// Output:
	// {down [opus] []}
	// {degraded [opus] []}
	// {up [] []}
}
