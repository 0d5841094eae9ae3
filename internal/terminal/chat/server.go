package chat

import (
	"context"
	"errors"
	"iter"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// Server is a running server that stores the conversations and runs their turns, with or without a
// terminal.
type Server struct {
	Client   client.Client
	Override func(conversation.Settings) conversation.Settings // changes the settings of a conversation that is opened; nil: keeps them
}

// New creates a conversation.
func (s Server) New(ctx context.Context, with conversation.Settings) (tui.Conversation, error) {
	id, err := s.Client.Create(ctx, with)
	if err != nil {
		return nil, localError(err)
	}
	return &titled{Conversation: &remote{s.Client, id}}, nil
}

// Open opens a conversation.
func (s Server) Open(ctx context.Context, id string) (tui.Conversation, error) {
	t := &titled{Conversation: &remote{s.Client, id}}
	v, err := t.Get(ctx)
	if err == nil && s.Override != nil {
		err = t.Do(ctx, tui.Change{Settings: s.Override(v.Settings)})
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// List yields the conversations, the newest first.
func (s Server) List(ctx context.Context) iter.Seq2[tui.Entry, error] {
	return func(yield func(tui.Entry, error) bool) {
		for v, err := range s.Client.List(ctx) {
			if !yield(tui.Entry{View: v}, localError(err)) {
				return
			}
		}
	}
}

// localError adds the error of a local conversation to that of a server.
func localError(err error) error {
	p, ok := errors.AsType[*api.Problem](err)
	if !ok {
		return err
	}
	is := map[string]error{
		"not-found": conversation.ErrNone, "gone": store.ErrDeleted, "not-running": conversation.ErrIdle, "already-stopped": conversation.ErrStopped,
		"answered": conversation.ErrAnswered, "not-queued": conversation.ErrInput, "queue-full": conversation.ErrMany, "store-full": store.ErrFull,
	}[p.Code]
	if is == nil {
		return err
	}
	return serverError{err, is}
}

// serverError is an error of a server that is also one of a local conversation.
type serverError struct {
	error
	is error
}

func (e serverError) Unwrap() []error { return []error{e.error, e.is} }

// remote is a conversation on a server.
type remote struct {
	client client.Client
	id     string
}

func (r *remote) ID() string { return r.id }

func (r *remote) Get(ctx context.Context) (conversation.View, error) {
	v, err := r.client.Get(ctx, r.id)
	return v, localError(err)
}

func (r *remote) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range r.client.Attach(ctx, r.id, after) {
			if !yield(e, localError(err)) {
				return
			}
		}
	}
}

func (r *remote) Do(ctx context.Context, c tui.Command) (err error) {
	switch c := c.(type) {
	case tui.Send:
		err = r.client.Put(ctx, r.id, c.ID, c.Text)
	case tui.Remove:
		err = r.client.Remove(ctx, r.id, c.ID)
	case tui.Steer:
		err = r.client.Steer(ctx, r.id, c.ID)
	case tui.Retry:
		err = r.client.Again(ctx, r.id, c.ID)
	case tui.RetryNow:
		err = r.client.Now(ctx, r.id)
	case tui.Cancel:
		err = r.client.Stop(ctx, r.id, c.ID)
	case tui.Change:
		err = r.client.Change(ctx, r.id, c.Settings)
	}
	return localError(err)
}

// Close does nothing: the server continues on its own.
func (r *remote) Close() error { return nil }
