package gatewaycmd

import (
	"log/slog"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// BenchmarkQueueEvents measures the events of a request that is answered at once, from the gateway to all that watch.
func BenchmarkQueueEvents(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	tell, err := telemetry.New(b.Context(), telemetry.Config{Log: log})
	if err != nil {
		b.Fatalf("new: %v", err)
	}
	shown, measured := live.NewFeed(), history.Open("", log)
	watch, end := queueEvents(func(e *gateway.Event) { tell.Watch(e); shown.Watch(e); measured.Watch(e) }, nil)
	defer end()
	call := gateway.Call{ID: 1, Client: "claude-cli/2.1.329", API: "anthropic", Upstream: "work", Model: "claude-sonnet-5", Began: time.Now()}
	events := []gateway.Event{
		{At: time.Now(), Call: call, Event: turn.Start{}},
		{At: time.Now(), Call: call, Try: retry.Try{N: 1, Start: time.Now(), Took: time.Second}},
		{At: time.Now(), Call: call, Event: turn.Sealed{Status: turn.Done}, Status: 200},
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			watch(e)
		}
	}
}
