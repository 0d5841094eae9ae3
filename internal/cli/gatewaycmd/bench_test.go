package gatewaycmd

import (
	"log/slog"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/internal/server/feed"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// BenchmarkEventQueue measures the events of a request that is answered at once, from the gateway to all that watch.
func BenchmarkEventQueue(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	tell, err := telemetry.New(b.Context(), telemetry.Config{Log: log})
	if err != nil {
		b.Fatalf("new: %v", err)
	}
	shown, measured := feed.New(), history.Open("", log)
	q := newEventQueue(func(e *gateway.Event) { tell.Watch(e); shown.Watch(e); measured.Watch(e) }, nil)
	call := gateway.Call{ID: 1, Client: "claude-cli/2.1.329", API: "anthropic", Upstream: "work", Model: "claude-sonnet-5", Began: time.Now()}
	events := []gateway.Event{
		{At: time.Now(), Call: call, Event: turn.Start{}},
		{At: time.Now(), Call: call, Try: retry.Try{N: 1, Start: time.Now(), Took: time.Second}},
		{At: time.Now(), Call: call, Event: turn.Sealed{Status: turn.Done}, Status: 200},
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for _, e := range events {
			q.Watch(e)
		}
		if i%20 == 0 {
			q.flush()
		}
	}
}
