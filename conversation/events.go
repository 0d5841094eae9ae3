package conversation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// EventType says what an Event tells.
type EventType string

// The types of events, in the order in which one turn may have them.
const (
	Tried     EventType = "tried"     // a try has its outcome; one that a user has stopped has none
	Waiting   EventType = "waits"     // a try failed, and another follows after a wait
	Recovered EventType = "recovered" // a try passed after others had failed
	Lost      EventType = "lost"      // the turn has ended without an answer after it had waited
)

// Event tells those who measure what has happened between a turn and its
// provider on this runner. It carries nothing of what was said.
type Event struct {
	Type         EventType
	At           time.Time
	Conversation string   // "" of Tried
	Turn         string   // "" of Tried
	Name         llm.Name // who was asked
	Fault        *fault.Error
	Took         time.Duration // of Tried: until the first content or the fault
	Retries      int           // of Recovered and Lost
	Waited       time.Duration // of Recovered and Lost
	Stopped      bool          // of Lost: a user or operator has stopped it
}

// measure reports an event to Config.OnEvent.
func (h *Runner) measure(e Event) {
	if h.OnEvent != nil {
		e.At = time.Now()
		h.OnEvent(e)
	}
}

// measureEvent measures what a worker tells.
func (w *worker) measureEvent(e turn.Event) {
	out := Event{Conversation: w.log.id, Turn: w.turn}
	switch e := e.(type) {
	case turn.Retry:
		out.Type, out.Name, out.Fault = Waiting, e.Name, e.Fault
	case turn.Recovered:
		out.Type, out.Name, out.Retries, out.Waited = Recovered, e.Name, e.Retries, e.Waited
	default:
		return
	}
	w.h.measure(out)
}

// endWait reports the lost wait of a turn that has ended, if it was in one.
// stopped: a user or an operator has ended it.
func (h *Runner) endWait(ctx context.Context, conversation string, stopped bool) {
	if w, ok := h.dropWait(ctx, conversation); ok {
		retries := w.Run.Tries - 1
		if w.Trying && !stopped {
			retries++ // the wait is from before that
		}
		h.measure(Event{Type: Lost, Conversation: conversation, Turn: w.Turn, Name: w.Name, Retries: retries, Waited: w.Run.Slept, Stopped: stopped})
	}
}

// turnDone is for a turn that a worker is done with. One that is in progress still
// may go on to wait.
func (h *Runner) turnDone(ctx context.Context, l *log) {
	if l.now.id == "" {
		h.endWait(ctx, l.id, l.sealed == turn.Aborted)
	}
}

// Upstream is a provider as the turns of this runner know it.
type Upstream struct {
	Breaker breaker.State // Name is the provider's
	Waiting int           // turns that wait for it, on all runners
}

// Upstreams lists the providers that turns of this runner have asked or that turns
// wait for, by name.
func (h *Runner) Upstreams() (all []Upstream) {
	waiting := h.waits.counts()
	for _, s := range h.Breakers.States() {
		all = append(all, Upstream{s, waiting[s.Name]})
		delete(waiting, s.Name)
	}
	for name, n := range waiting {
		all = append(all, Upstream{breaker.State{Name: name}, n})
	}
	slices.SortFunc(all, func(a, b Upstream) int { return strings.Compare(a.Breaker.Name, b.Breaker.Name) })
	return all
}

// RetryAll ends the waits of all turns that wait for a provider: a few try at
// once, and more and more if they pass.
func (h *Runner) RetryAll(ctx context.Context, provider string) {
	h.Breakers.Of(provider).RetryNow()
	h.announceRecovery(ctx, provider)
}

// StopAll ends the turns that wait for a provider: they are sealed as aborted.
func (h *Runner) StopAll(ctx context.Context, provider string) error {
	for _, p := range h.waits.of(provider) {
		err := h.Stop(ctx, p.Conversation, p.Turn)
		if err != nil && !errors.Is(err, ErrIdle) && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
