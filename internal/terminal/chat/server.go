package chat

import (
	"context"
	"errors"
	"iter"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// Server is a running server that keeps the conversations and works on them,
// whatever becomes of the terminal.
type Server struct {
	Client   client.Client
	Override func(conversation.Settings) conversation.Settings // changes those of a conversation as it is opened; nil: does not
}

// New makes a conversation.
func (s Server) New(ctx context.Context, with conversation.Settings) (tui.Conversation, error) {
	id, err := s.Client.Create(ctx, client.Settings(with))
	if err != nil {
		return nil, known(err)
	}
	return &titled{Conversation: &served{s.Client, id}}, nil
}

// Open opens a conversation.
func (s Server) Open(ctx context.Context, id string) (tui.Conversation, error) {
	t := &titled{Conversation: &served{s.Client, id}}
	v, err := t.Get(ctx)
	if err == nil && s.Override != nil {
		err = t.Change(ctx, s.Override(v.Settings))
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
			if !yield(tui.Entry{View: view(v)}, known(err)) {
				return
			}
		}
	}
}

// view gives a conversation as the session's package does.
func view(of client.View) conversation.View {
	v := conversation.View{
		ID: of.ID, Settings: conversation.Settings(of.Settings), Created: of.Created, Changed: of.Changed, Last: of.Seq, Turn: of.TurnID,
	}
	if w := of.Wait; w != nil {
		v.Waits = &conversation.Wait{Until: w.Until, Attempt: w.Attempt, Kind: w.Kind, Message: w.Message}
	}
	for _, in := range of.Queue {
		v.Inputs = append(v.Inputs, conversation.Input(in))
	}
	return v
}

// known gives a server's refusal as the error that it is here.
func known(err error) error {
	p, ok := errors.AsType[*client.Problem](err)
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
	return refusal{err, is}
}

// refusal is an error of a server, and what it is here.
type refusal struct {
	error
	is error
}

func (r refusal) Unwrap() []error { return []error{r.error, r.is} }

// served is a conversation at a server.
type served struct {
	client client.Client
	id     string
}

func (t *served) ID() string { return t.id }

func (t *served) Get(ctx context.Context) (conversation.View, error) {
	v, err := t.client.Get(ctx, t.id)
	return view(v), known(err)
}

func (t *served) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for e, err := range t.client.Attach(ctx, t.id, after) {
			if !yield(e, known(err)) {
				return
			}
		}
	}
}

func (t *served) Say(ctx context.Context, id, text string) (string, error) {
	if id == "" {
		id = conversation.NewID() // to say it again if the connection is lost
	}
	return id, known(t.client.Put(ctx, t.id, id, text))
}

func (t *served) Again(ctx context.Context) (string, error) {
	id := conversation.NewID()
	return id, known(t.client.Again(ctx, t.id, id))
}

func (t *served) Edit(ctx context.Context, input, text string) error {
	return known(t.client.Edit(ctx, t.id, input, text))
}

func (t *served) Remove(ctx context.Context, input string) error {
	return known(t.client.Remove(ctx, t.id, input))
}

func (t *served) Steer(ctx context.Context, input string) error {
	return known(t.client.Steer(ctx, t.id, input))
}

func (t *served) Stop(ctx context.Context, turnID string) error {
	return known(t.client.Stop(ctx, t.id, turnID))
}

func (t *served) Now(ctx context.Context) error { return known(t.client.Now(ctx, t.id)) }

func (t *served) Change(ctx context.Context, s conversation.Settings) error {
	return known(t.client.Change(ctx, t.id, client.Settings(s)))
}

// Close lets the server go on by itself.
func (t *served) Close() error { return nil }
