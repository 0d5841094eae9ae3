package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
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

// What it costs to show the incidents of ten gateways that have all seen the same forty, each of half an hour.
func BenchmarkSum(b *testing.B) {
	now := time.Now()
	busy := &fault.Error{Kind: fault.Overloaded, Status: 529}
	var parts []history.Part
	for gateway := range 10 {
		w := newWorld(nil, "")
		for i := range 40 {
			began := now.Add(time.Duration(i-40) * 4 * time.Hour)
			for minute := range 30 {
				at := began.Add(time.Duration(minute) * time.Minute)
				w.Watch(new(tried(w.call(1, "m"), at, busy)))
			}
			w.Watch(new(tried(w.call(1, "m"), began.Add(time.Hour/2), nil)))
		}
		parts = append(parts, history.Part{History: w.History, Name: fmt.Sprint("r", gateway)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(history.Sum(now, parts...).Incidents(now)); n != 40 {
			b.Fatalf("%d incidents, want 40", n)
		}
	}
}

func tried(c gateway.Call, at time.Time, f *fault.Error) gateway.Event {
	return gateway.Event{At: at, Call: c, Try: retry.Try{N: 1, Start: at, Took: time.Second, Fault: f}}
}
