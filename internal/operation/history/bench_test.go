package history_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"

	"github.com/ridethrough/ridethrough/gateway"
)

// What a request costs that passes at once: its try and its end.
func BenchmarkWatch(b *testing.B) {
	w := newWorld(nil, "")
	tried := gateway.Event{Type: gateway.Tried, At: time.Now(), Call: w.call(1, "m"), Try: retry.Try{Start: time.Now(), Took: time.Second}}
	ended := gateway.Event{Type: gateway.Ended, At: time.Now(), Call: w.call(1, "m")}
	b.ReportAllocs()
	for b.Loop() {
		w.Watch(tried)
		w.Watch(ended)
	}
}

// What it costs to look at an upstream that was busy all day.
func BenchmarkUpstream(b *testing.B) {
	w := newWorld(nil, "")
	now := time.Now()
	for i := range 96 * 50 {
		at := now.Add(-time.Duration(i/50) * 15 * time.Minute)
		w.Watch(gateway.Event{Type: gateway.Tried, At: at, Call: w.call(1, "m"), Try: retry.Try{Start: at, Took: time.Duration(i%50) * 100 * time.Millisecond}})
	}
	w.tell(gateway.Ended, 1, "m", policy.Wait{})
	b.ReportAllocs()
	for b.Loop() {
		w.Upstream("work", now)
	}
}
