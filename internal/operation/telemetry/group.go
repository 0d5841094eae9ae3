package telemetry

import (
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry/tracing"
	"github.com/ridethrough/ridethrough/turn"
)

// Group begins the span of several turns that belong together, those of a council. parent is the traceparent of
// its caller; "": none. It returns the traceparent of the turns, and what ends the span.
func (t *Telemetry) Group(of, id, parent string) (span string, end func(turn.Status)) {
	if t.traces == nil {
		return parent, func(turn.Status) {}
	}
	s := t.traces.tracer.Start(tracing.ParseTraceparent(parent), of, tracing.Internal, time.Now(), face.Text(of), turnID.Text(id))
	return s.Context().Traceparent(), func(status turn.Status) {
		s.Set(sealedAs.Text(string(status)))
		if status == turn.Failed {
			s.Fail("")
		}
		s.End(time.Now())
	}
}

// waitingTurns knows by their events how many turns wait.
type waitingTurns struct {
	mu    sync.Mutex
	waits map[int64]string // the upstream of each that waits, or is tried again
	seen  map[string]bool  // all upstreams
}

// ShowWaiting adds the gauge of the turns that wait to the metrics, for a face without a runner of conversations. It
// must be called before the first event, and at most once.
func (t *Telemetry) ShowWaiting(face string) {
	t.waiting = &waitingTurns{waits: map[int64]string{}, seen: map[string]bool{}}
	t.registry.OnScrape(func(s *metrics.Scrape) {
		for upstream, n := range t.waiting.count() {
			s.Set(t.gauges.waiting, float64(n), face, upstream)
		}
	})
}

// watch notes whether a turn waits after an event.
func (w *waitingTurns) watch(e *gateway.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[e.Call.Upstream] = true
	if _, waits := e.Event.(turn.Retry); waits {
		w.waits[e.Call.ID] = e.Call.Upstream
	} else {
		delete(w.waits, e.Call.ID)
	}
}

// count returns how many turns wait, by upstream.
func (w *waitingTurns) count() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{}
	for upstream := range w.seen {
		n[upstream] = 0
	}
	for _, upstream := range w.waits {
		n[upstream]++
	}
	return n
}
