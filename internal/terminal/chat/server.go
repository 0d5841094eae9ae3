package chat

import (
	"context"
	"iter"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/wire"
)

// Server is a running server that stores the conversations and runs their turns, with or without a terminal.
type Server struct {
	Client client.Client
	// Override changes the settings of a conversation that is opened; nil keeps them.
	Override func(conversation.Settings) conversation.Settings
}

// New creates a conversation.
func (s Server) New(ctx context.Context, with conversation.Settings) (tui.Conversation, error) {
	id, err := s.Client.Create(ctx, with)
	if err != nil {
		return nil, err
	}
	return &remote{s.Client, id}, nil
}

// Open opens a conversation.
func (s Server) Open(ctx context.Context, id string) (tui.Conversation, error) {
	t := &remote{s.Client, id}
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
			if !yield(tui.Entry{View: v}, err) {
				return
			}
		}
	}
}

type remote struct {
	client client.Client
	id     string
}

func (r *remote) ID() string { return r.id }

func (r *remote) Get(ctx context.Context) (conversation.View, error) { return r.client.Get(ctx, r.id) }

func (r *remote) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return r.client.Attach(ctx, r.id, after)
}

func (r *remote) Do(ctx context.Context, c tui.Command) error {
	switch c := c.(type) {
	case tui.Send:
		return r.client.Put(ctx, r.id, c.ID, c.Text, c.Images...)
	case tui.Compact:
		return r.client.Compact(ctx, r.id, c.ID, c.Instruction)
	case tui.Remove:
		return r.client.Remove(ctx, r.id, c.ID)
	case tui.Steer:
		return r.client.Steer(ctx, r.id, c.ID)
	case tui.Retry:
		return r.client.Again(ctx, r.id, c.ID, c.UntilReset)
	case tui.Move:
		return r.client.Move(ctx, r.id, c.Model)
	case tui.Pause:
		return r.client.Pause(ctx, r.id)
	case tui.Unpause:
		return r.client.Resume(ctx, r.id)
	case tui.RetryNow:
		return r.client.Now(ctx, r.id)
	case tui.Cancel:
		return r.client.Stop(ctx, r.id, c.ID)
	case tui.Answer:
		return r.client.Answer(ctx, r.id, c.Call, c.Decision)
	case tui.Change:
		return r.client.Change(ctx, r.id, c.Settings)
	}
	return nil
}

// Close does nothing: the server continues on its own.
func (r *remote) Close() error { return nil }
