package history_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/retry"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

var busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}

// world is a history in a bubble, and what happens to it.
type world struct {
	*history.History
	t *testing.T
}

func newWorld(t *testing.T, path string) *world {
	return &world{history.Open(path, slog.New(slog.DiscardHandler)), t}
}

func (w *world) call(id int64, model string) gateway.Call {
	return gateway.Call{ID: id, Session: fmt.Sprint("s", id%10), Client: "claude-cli/2.1.329", Upstream: "work", Model: model, Stream: true}
}

// try reports a try and its duration; f nil: it was answered.
func (w *world) try(id int64, model string, took time.Duration, f *fault.Error) {
	now := time.Now()
	w.Watch(&gateway.Event{At: now, Call: w.call(id, model), Try: retry.Try{
		N: 1, Start: now.Add(-took), Took: took, Fault: f,
	}})
}

// fail reports a failed try, and the wait after it.
func (w *world) fail(id int64, model string) {
	w.try(id, model, time.Second, busy)
	w.tell(id, model, turn.Retry{Wait: policy.Wait{Fault: busy}})
}

// recover reports a try that succeeded after failures.
func (w *world) recover(id int64, model string, retries int, waited time.Duration) {
	w.try(id, model, time.Second, nil)
	w.tell(id, model, turn.Recovered{Retries: retries, Waited: waited})
}

// end reports the end of a request.
func (w *world) end(id int64, model string) { w.tell(id, model, turn.Sealed{Status: turn.Failed}) }

func (w *world) tell(id int64, model string, e turn.Event) {
	w.Watch(&gateway.Event{At: time.Now(), Call: w.call(id, model), Event: e})
}

// turn reports an event of a turn.
func (w *world) turn(conversationID string, e turn.Event) {
	w.WatchTurn(gateway.Event{At: time.Now(), Call: gateway.Call{Session: conversationID, Turn: "t", Upstream: "work", Model: "large"}, Event: e}, true)
}

// turnTry reports a try of a turn; nil: it passed.
func (w *world) turnTry(f *fault.Error) {
	w.WatchTurn(gateway.Event{At: time.Now(), Call: gateway.Call{Upstream: "work", Model: "large"}, Try: retry.Try{N: 1, Start: time.Now().Add(-time.Second), Took: time.Second, Fault: f}}, false)
}

// said lists the incidents, the oldest first, in minutes since the year 2000.
func (w *world) said() string {
	var all []string
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	minute := func(t time.Time) string { return fmt.Sprintf("%.0f", t.Sub(epoch).Minutes()) }
	for _, in := range w.Incidents(time.Now()) {
		end := "open"
		switch {
		case in.RecoveredMs > 0:
			end = "recovered " + minute(in.Ended)
		case !in.Ended.IsZero():
			end = "unknown " + minute(in.Ended)
		}
		all = append([]string{fmt.Sprintf("%s %s to %s, %d of %d failed", in.Upstream, minute(in.Began), end, in.Failures, in.Tries)}, all...)
	}
	return strings.Join(all, "; ")
}
