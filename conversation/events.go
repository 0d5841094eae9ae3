package conversation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
)

// Event is what has happened between a turn and its provider on this runner: a
// try, or an event of the turn. It contains nothing of the conversation's text.
type Event struct {
	At           time.Time
	Conversation string    // "" of a try
	Turn         string    // "" of a try
	Name         llm.Name  // the model
	Try          retry.Try // a request that no user has stopped has its outcome; N 0: see Event

	// Event is turn.Retry for a wait, turn.Recovered for an answer after a wait, and
	// turn.Sealed for a turn that ended without an answer after it had waited: then
	// its Metrics have the retries and their delay. nil: a try.
	Event turn.Event
}

// measure reports an event to Config.OnEvent.
func (r *Runner) measure(e Event) {
	if r.OnEvent != nil {
		e.At = time.Now()
		r.OnEvent(e)
	}
}

// measureEvent reports a wait or a recovery of the turn.
func (w *worker) measureEvent(e turn.Event) {
	out := Event{Conversation: w.log.id, Turn: w.turn, Event: e}
	switch e := e.(type) {
	case turn.Retry:
		out.Name = e.Name
	case turn.Recovered:
		out.Name = e.Name
	default:
		return
	}
	w.runner.measure(out)
}

// endWait reports the end of a turn that waited, if it did; turnID "": whichever it is. stopped: a user or an operator has ended it.
func (r *Runner) endWait(ctx context.Context, conversation, turnID string, stopped bool) {
	w, ok := r.dropWait(ctx, conversation, turnID)
	if !ok {
		return
	}
	end := turn.Sealed{Status: turn.Failed, Metrics: turn.Metrics{RetryCount: w.Run.Tries - 1, TotalRetryDelay: w.Run.Slept}}
	switch {
	case stopped:
		end.Status = turn.Aborted
	case w.Trying:
		end.RetryCount++ // the wait is from before that
	}
	r.measure(Event{Conversation: conversation, Turn: w.Turn, Name: w.Name, Event: end})
}

// turnDone reports the end of a turn that a worker has left, unless it is still in progress.
func (r *Runner) turnDone(ctx context.Context, l *log, turnID string) {
	if l.now.id == "" {
		r.endWait(ctx, l.id, turnID, l.sealed == turn.Aborted)
	}
}

// Upstream is a provider as the turns of this runner know it.
type Upstream struct {
	Breaker breaker.State // Name is the provider's
	Waiting int           // turns that wait for it, on all runners
}

// Upstreams lists the providers that turns of this runner have asked or that turns wait for, by name.
func (r *Runner) Upstreams() (all []Upstream) {
	waiting := r.waits.counts()
	for _, s := range r.Breakers.States() {
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
func (r *Runner) RetryAll(ctx context.Context, provider string) {
	r.Breakers.Of(provider).RetryNow()
	r.announceRecovery(ctx, provider)
}

// StopAll ends the turns that wait for a provider: they are sealed as aborted.
func (r *Runner) StopAll(ctx context.Context, provider string) error {
	for _, p := range r.waits.of(provider) {
		err := r.Stop(ctx, p.Conversation, p.Turn)
		if err != nil && !errors.Is(err, ErrIdle) && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
