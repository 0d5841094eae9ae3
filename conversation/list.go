package conversation

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// List yields the conversations whose id is below before, from the highest id down; "" starts at the highest.
// Ids that the runner has made up are the newest first. Of each it tells what its first and its last record
// do: not what is in progress, but whether it is paused, and of settings that were changed the model and the title. Only for a title that they
// lack the first words are read.
func (r *Runner) List(ctx context.Context, before string) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		for head, err := range r.Store.Conversations(ctx, before) {
			var v View
			ok := true
			if err == nil {
				v, ok, err = r.viewOfHead(ctx, head)
			}
			if ok && (!yield(v, err) || err != nil) {
				return
			}
		}
	}
}

// viewOfHead returns the conversation that a head describes; false: it is not one of ours.
func (r *Runner) viewOfHead(ctx context.Context, head store.Head) (v View, ok bool, err error) {
	l := &log{id: head.ID}
	if head.First.Type == created {
		if err := l.apply(head.First); err != nil {
			return v, true, err
		}
	}
	if head.First.N > 1 { // those before it are lost
		l.born = head.First.Time
	}
	if l.check() != nil {
		return v, false, nil
	}
	s, c := r.headline(ctx, l.settings, head)
	return View{ID: l.id, Settings: s, Created: l.born, Changed: head.Last.Time, Last: head.End.N, Turns: c.Turns, Paused: c.Paused}, true, nil
}

// History yields what is kept of a conversation behind a number, as [Runner.Attach] does, and ends there.
func (r *Runner) History(ctx context.Context, conversation string, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		f := &reader{runner: r, id: conversation, after: after, yield: yield}
		end, err := r.Store.End(ctx, conversation)
		if err == nil {
			err = f.begin(ctx, end.N)
		}
		if err != nil && err != errUnread {
			yield(wire.Event{}, err)
		}
	}
}
