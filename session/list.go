package session

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/wire"
)

// List yields the conversations whose id is below before, from the highest id
// down; "" starts at the highest. Ids that the host has made up are the newest
// first. Of each it tells what its first and its last record do: not what is
// under way, and of settings that were changed the model and the title.
func (h *Host) List(ctx context.Context, before string) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		for head, err := range h.Engine.Conversations(ctx, before) {
			l := &log{id: head.ID}
			if err == nil && head.First.Type == created {
				err = l.fold(head.First)
			}
			if err != nil {
				yield(View{}, err)
				return
			}
			if l.check() != nil {
				continue // not one of ours
			}
			v := View{ID: l.id, Settings: titled(l.settings, head.Last), Created: l.born, Changed: head.Last.Time, Last: head.End.N}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// History yields what is kept of a conversation behind a number, as [Host.Attach]
// does, and ends there.
func (h *Host) History(ctx context.Context, conversation string, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		r := &reader{h: h, log: &log{id: conversation}, after: after, yield: yield}
		err := r.read(ctx)
		if err == nil {
			err = r.log.check()
		}
		if err != nil && err != errUnread {
			yield(wire.Event{}, err)
		}
	}
}
