package conversation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// Event is what has happened between a turn and its models on this runner.
type Event struct {
	agent.Report
	Conversation string
	Turn         string
	Parent       string // the traceparent of the request that the turn is for (W3C Trace Context); "": none
	Waited       bool   // with turn.Sealed: the turn waited for its provider, which has not answered since
}

// measure reports an event to Config.OnEvent.
func (r *Runner) measure(e Event) {
	if r.OnEvent != nil {
		e.At = time.Now()
		r.OnEvent(e)
	}
}

// report reports to Config.OnEvent what its agent reports, and shares the outcomes of tries that were sent
// with other runners.
func (w *worker) report(ctx context.Context, e agent.Report) {
	out := Event{Report: e, Conversation: w.log.id, Turn: w.turn, Parent: w.parent}
	if _, ended := e.Event.(turn.Sealed); ended {
		_, out.Waited = w.runner.dropWait(ctx, w.log.id, w.turn)
	}
	w.runner.measure(out)
	if e.Try.N > 0 && !e.Try.Shared {
		w.runner.shareOutcome(context.WithoutCancel(ctx), e.Name, e.Try.Fault)
	}
}

// model returns the model that the turn asks, or would ask first.
func (w *worker) model() llm.Name {
	if wait := w.log.now.waits; wait != nil {
		return wait.Name
	}
	provider, model, _ := strings.Cut(w.log.now.with.Model, "/")
	return llm.Name{Provider: provider, Model: model}
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
	r.measure(Event{Report: agent.Report{Name: w.Name, Event: end}, Conversation: conversation, Turn: w.Turn, Waited: true})
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
