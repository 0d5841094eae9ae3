package conversations

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// Waits returns the oldest waiting turns, at most n, and the number of all.
func (a *API) Waits(n int) (oldest iter.Seq[live.TurnWait], all int) {
	waits, all := a.Runner.Waits(n)
	return func(yield func(live.TurnWait) bool) {
		now := time.Now()
		for i := range waits {
			v := turnOf(&waits[i], now)
			if v.Upstream = a.upstream(v.Provider); !yield(v) {
				return
			}
		}
	}, all
}

func (a *API) upstream(provider string) string {
	if a.Name == nil {
		return history.ConversationUpstream(provider)
	}
	return a.Name(provider)
}

func turnOf(w *conversation.Wait, now time.Time) live.TurnWait {
	v := live.TurnWait{
		Conversation: w.Conversation, Title: w.Title, Turn: w.Turn, State: "waiting", Provider: w.Name.Provider, Model: w.Name.Model,
		WaitView: live.ViewWait(&w.Wait, w.Run.Tries-1, w.Began, now),
	}
	v.Code = w.Fault.ShortCode()
	left := v.RemainingMs
	switch {
	case w.Paused:
		v.State, v.Due, v.RemainingMs = "paused", time.Time{}, 0
	case w.Trying:
		v.State, v.Due, v.RemainingMs, left = "trying", time.Time{}, 0, 0
	}
	slept := w.Run.Slept
	if w.Verdict.Window { // of which the budget knows nothing
		slept = w.Waited + w.Verdict.Wait
	}
	v.WaitedMs = max(0, slept.Milliseconds()-left)
	return v
}

// Recent returns at most n of the newest conversations; with an error, those known so far.
func (a *API) Recent(ctx context.Context, n int) ([]live.Recent, error) {
	found, err := a.Runner.Recent(ctx, n)
	all := make([]live.Recent, len(found))
	for i, v := range found {
		all[i] = live.Recent{Summary: views.SummaryOf(v), TurnID: v.Turn, Waiting: v.Wait != nil}
	}
	return all, err
}

// Upstreams returns the upstreams that turns have asked or wait for, each with the number of turns that wait for
// it.
func (a *API) Upstreams() iter.Seq2[breaker.State, int] {
	all := a.Runner.Upstreams()
	return func(yield func(breaker.State, int) bool) {
		for _, u := range all {
			u.Breaker.Name = a.upstream(u.Breaker.Name)
			if !yield(u.Breaker, u.Waiting) {
				return
			}
		}
	}
}

// ActOn acts on the waiting turn of a conversation; conversation "" acts on all that wait for a provider.
func (a *API) ActOn(ctx context.Context, provider, conversation string, do gateway.Command) error {
	if conversation == "" && do == gateway.RetryNow {
		a.Runner.RetryAll(ctx, provider)
		return nil
	}
	if conversation == "" {
		return a.Runner.StopAll(ctx, provider)
	}
	var err error
	switch do {
	case gateway.RetryNow:
		err = a.Runner.RetryNow(ctx, conversation)
	case gateway.Pause:
		err = a.Runner.Pause(ctx, conversation)
	case gateway.Resume:
		err = a.Runner.Resume(ctx, conversation)
	case gateway.GiveUp:
		err = a.Runner.Stop(ctx, conversation, "")
	}
	return views.Explain(err)
}

// Subscribe reads the events of a conversation after one, if that event exists.
func (a *API) Subscribe(ctx context.Context, id string, after int64) (items <-chan rest.Item, stop func()) {
	if _, err := a.viewAfter(ctx, id, after); err != nil {
		return rest.Failed(views.Explain(err))
	}
	return rest.Subscribe(ctx, func(ctx context.Context) iter.Seq2[wire.Event, error] { return a.attach(ctx, id, after) })
}

func (a *API) attach(ctx context.Context, id string, after int64) iter.Seq2[wire.Event, error] {
	return explained(a.Runner.Attach(ctx, id, after))
}

// explained adds the problem to an error of events. A closed store ends them without an error.
func explained(events iter.Seq2[wire.Event, error]) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range events {
			switch {
			case errors.Is(err, store.ErrClosed):
				err = rest.ErrEnd
			case err != nil:
				err = views.Explain(err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
