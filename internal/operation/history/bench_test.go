package history_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// What a request costs that passes at once: its arrival, its try and its end.
func BenchmarkWatch(b *testing.B) {
	w := newWorld(nil, "")
	arrived := gateway.Event{At: time.Now(), Call: w.call(1, "m"), Event: turn.Start{}}
	tried := gateway.Event{At: time.Now(), Call: w.call(1, "m"), Try: retry.Try{N: 1, Start: time.Now(), Took: time.Second}}
	ended := gateway.Event{At: time.Now(), Call: w.call(1, "m"), Event: turn.Sealed{Status: turn.Done}}
	b.ReportAllocs()
	for b.Loop() {
		w.Watch(&arrived)
		w.Watch(&tried)
		w.Watch(&ended)
	}
}

// What it costs to look at an upstream that was busy all day.
func BenchmarkUpstream(b *testing.B) {
	w := newWorld(nil, "")
	now := time.Now()
	for i := range 96 * 50 {
		at := now.Add(-time.Duration(i/50) * 15 * time.Minute)
		w.Watch(&gateway.Event{At: at, Call: w.call(1, "m"), Try: retry.Try{N: 1, Start: at, Took: time.Duration(i%50) * 100 * time.Millisecond}})
	}
	w.end(1, "m")
	b.ReportAllocs()
	for b.Loop() {
		w.Upstream("work", now)
	}
}
