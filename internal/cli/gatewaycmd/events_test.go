package gatewaycmd

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
)

func TestQueueEvents_DeliversInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20 * queuedEvents
		var got []int64
		watch, end := queueEvents(func(e *gateway.Event) { got = append(got, e.Call.ID) }, nil)
		for i := range n {
			watch(gateway.Event{Call: gateway.Call{ID: int64(i)}})
		}
		end()
		for i, id := range got {
			if id != int64(i) {
				t.Fatalf("the event %d came as number %d", id, i)
			}
		}
		if len(got) != n {
			t.Errorf("events handled: got %d, want %d", len(got), n)
		}
		watch(gateway.Event{}) // of a request that has outlived the gateway
	})
}

func TestQueueEvents_HandlesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handled := 0
		watch, end := queueEvents(func(*gateway.Event) { handled++ }, nil)
		defer end()
		begun := time.Now()
		for range 100 * queuedEvents {
			watch(gateway.Event{})
		}
		synctest.Wait()
		if took := time.Since(begun); took > 0 || handled != 100*queuedEvents {
			t.Errorf("events handled: got %d after %v, want all at once", handled, took)
		}
	})
}

func TestQueueEvents_SlowReaderBlocksRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handled := 0
		watch, end := queueEvents(func(*gateway.Event) { handled++; time.Sleep(time.Millisecond) }, nil)
		begun := time.Now()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 2000 {
					watch(gateway.Event{})
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took < 5*time.Second {
			t.Errorf("8000 events were taken in %v, want the time of their handler", took)
		}
		end()
		if handled != 8000 {
			t.Errorf("events handled: got %d, want 8000", handled)
		}
	})
}
