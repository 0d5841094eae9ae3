package gatewaycmd

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
)

func TestEventQueue_DeliversInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5000 // more than the queue's limit
		var got []int64
		b := newEventQueue(func(e *gateway.Event) { got = append(got, e.Call.ID) }, nil)
		for i := range n {
			b.Watch(gateway.Event{Call: gateway.Call{ID: int64(i)}})
		}
		b.close()
		for i, id := range got {
			if id != int64(i) {
				t.Fatalf("the event %d came as number %d", id, i)
			}
		}
		if len(got) != n {
			t.Errorf("%d events", len(got))
		}
	})
}

// A gateway that answers twenty thousand requests in a second has more events than the limit within the delay.
func TestEventQueue_ManyEventsAreNotDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 100 * queueLimit
		handled := 0
		b := newEventQueue(func(*gateway.Event) { handled++ }, nil)
		begun := time.Now()
		for range n {
			b.Watch(gateway.Event{})
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("%d events, which are handled at once, held their requests up: got %v, want none", n, took)
		}
		b.Watch(gateway.Event{})
		time.Sleep(queueDelay)
		synctest.Wait()
		if handled != n+1 {
			t.Errorf("events handled after the delay: got %d, want %d", handled, n+1)
		}
	})
}

func TestEventQueue_SlowReaderBlocksRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		b := newEventQueue(func(*gateway.Event) { opened++; time.Sleep(time.Millisecond) }, nil)
		begun := time.Now()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 2000 {
					b.Watch(gateway.Event{})
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took < 5*time.Second {
			t.Errorf("8000 events were taken in %v", took)
		}
		b.close()
		if opened != 8000 {
			t.Errorf("%d events were opened", opened)
		}
	})
}
