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
	"github.com/ridethrough/ridethrough/internal/server/stream"
	"github.com/ridethrough/ridethrough/internal/server/views"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// Waits returns the oldest turns that wait, n at most, and the number of all.
func (a *API) Waits(n int) (oldest iter.Seq[live.TurnWait], all int) {
	waits, all := a.Runner.Waits(n)
	return func(yield func(live.TurnWait) bool) {
		now := time.Now()
		for i := range waits {
			if !yield(turnOf(&waits[i], now)) {
				return
			}
		}
	}, all
}

// turnOf returns a turn that waits as it is shown.
func turnOf(w *conversation.Wait, now time.Time) live.TurnWait {
	v := live.TurnWait{
		Conversation: w.Conversation, Title: w.Title, Turn: w.Turn, State: "waiting", Provider: w.Name.Provider, Model: w.Name.Model,
		Upstream: history.ConversationUpstream(w.Name.Provider), WaitView: live.ViewWait(&w.Wait, w.Run.Tries-1, w.Began, now),
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

// Recent returns the newest conversations, n at most; with an error those that are known.
func (a *API) Recent(ctx context.Context, n int) ([]live.Recent, error) {
	found, err := a.Runner.Recent(ctx, n)
	all := make([]live.Recent, len(found))
	for i, v := range found {
		all[i] = live.Recent{Summary: views.SummaryOf(v), TurnID: v.Turn, Waiting: v.Wait != nil}
	}
	return all, err
}

// Upstreams returns the providers that turns have asked or wait for, with the number of turns that wait for each.
func (a *API) Upstreams() iter.Seq2[breaker.State, int] {
	all := a.Runner.Upstreams()
	return func(yield func(breaker.State, int) bool) {
		for _, u := range all {
			if !yield(u.Breaker, u.Waiting) {
				return
			}
		}
	}
}

// ActOn retries or gives up the turns that wait for a provider.
func (a *API) ActOn(ctx context.Context, provider string, do gateway.Command) error {
	if do == gateway.RetryNow {
		a.Runner.RetryAll(ctx, provider)
		return nil
	}
	return a.Runner.StopAll(ctx, provider)
}

// Subscribe reads the events of a conversation after one, if it has one of that number.
func (a *API) Subscribe(ctx context.Context, id string, after int64) (items <-chan stream.Item, stop func()) {
	if err := a.checkAfter(ctx, id, after); err != nil {
		return stream.Failed(views.Explain(err))
	}
	return stream.Subscribe(ctx, func(ctx context.Context) iter.Seq2[wire.Event, error] { return a.attach(ctx, id, after) })
}

// attach returns the events of a conversation after one, as a stream sends them.
func (a *API) attach(ctx context.Context, id string, after int64) iter.Seq2[wire.Event, error] {
	return explained(a.Runner.Attach(ctx, id, after))
}

// explained returns events whose error has its problem. That the store is closed is their end, and no error.
func explained(events iter.Seq2[wire.Event, error]) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range events {
			switch {
			case errors.Is(err, store.ErrClosed):
				err = stream.ErrEnd
			case err != nil:
				err = views.Explain(err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
