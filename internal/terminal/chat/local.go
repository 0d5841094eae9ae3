package chat

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// local is a conversation that this process has open.
type local struct {
	folder Folder
	id     string
	work   string // the working directory in which it was begun
	store  store.Store
	host   *conversation.Runner
	said   bool // something was said, as far as its head tells

	stop func() // ends who works on it, and who writes its head
	busy sync.WaitGroup
	shut func() error // once
}

// begin works on a conversation until it is closed.
func (f Folder) begin(ctx context.Context, id string, store store.Store, host *conversation.Runner, work string) (tui.Conversation, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // whoever opens it closes it
	t := &local{folder: f, id: id, work: work, store: store, host: host, stop: stop}
	t.shut = sync.OnceValue(t.close)
	v, err := host.Get(ctx, id)
	if err != nil {
		stop()
		return nil, errors.Join(err, store.Close(ctx))
	}
	t.note(ctx)
	events := host.Attach(ctx, id, v.Last)
	t.busy.Go(func() { t.watch(ctx, events) })
	t.busy.Go(func() { f.tell("working on a conversation", id, host.Run(ctx)) })
	return &titled{Conversation: t}, nil
}

// watch keeps the head as it is.
func (t *local) watch(ctx context.Context, events iter.Seq2[wire.Event, error]) {
	for e, err := range events {
		if err != nil {
			t.folder.tell("following a conversation", t.id, err)
			return
		}
		if b, ok := e.Body.(wire.Turn); !ok || turn.Kept(b.Event) {
			t.note(ctx)
		}
	}
}

// note writes how the conversation stands into its head, for lists in other
// terminals.
func (t *local) note(ctx context.Context) {
	v, err := t.host.Get(ctx, t.id)
	if err == nil {
		t.said = t.said || said(ctx, t.host, t.id)
		h := head{View: brief(v), Folder: t.work, Said: t.said, Open: true}
		err = h.write(t.folder.path(t.id))
	}
	if ctx.Err() == nil {
		t.folder.tell("noting how a conversation stands", t.id, err)
	}
}

// said tells whether something was said in a conversation.
func said(ctx context.Context, h *conversation.Runner, id string) bool {
	for e, err := range h.History(ctx, id, 0) {
		if _, changed := e.Body.(wire.ConversationChanged); !changed || err != nil {
			return true
		}
	}
	return false
}

// Close hands back what is under way. A conversation in which nothing was said
// is not kept.
func (t *local) Close() error { return t.shut() }

func (t *local) close() error {
	t.stop()
	t.busy.Wait()
	h, err := t.folder.shut(context.Background(), t.id, t.store, t.host, t.work)
	if err == nil && !h.Said {
		err = t.folder.remove(t.id)
	}
	return err
}

// shut closes a store on which nobody works any more, and writes its head.
func (f Folder) shut(ctx context.Context, id string, store store.Store, host *conversation.Runner, work string) (h head, err error) {
	h = head{Folder: work, Locked: locked(f.path(id))}
	err = host.Gather(ctx) // what was accepted may have no record yet
	if err == nil {
		h.View, h.Said, err = stand(ctx, id, store, host)
	}
	if err := errors.Join(err, store.Close(ctx)); err != nil {
		return h, err
	}
	return h, h.write(f.path(id))
}

// stand tells how a conversation stands, and whether something was said in it, or
// is in its store besides: whoever has put that there keeps it.
func stand(ctx context.Context, id string, store store.Store, host *conversation.Runner) (v conversation.View, kept bool, err error) {
	v, err = host.Get(ctx, id)
	switch {
	case err == nil && said(ctx, host, id):
		return brief(v), true, nil
	case err != nil && !errors.Is(err, conversation.ErrNone): // that is one whose process has died as it made it
		return v, true, err
	}
	for other, err := range store.Conversations(ctx, "") {
		if err != nil || other.ID != id {
			return brief(v), true, err
		}
	}
	return brief(v), false, nil
}

func (t *local) ID() string { return t.id }

func (t *local) Get(ctx context.Context) (conversation.View, error) { return t.host.Get(ctx, t.id) }

func (t *local) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return t.host.Attach(ctx, t.id, after)
}

func (t *local) Say(ctx context.Context, id, text string) (string, error) {
	return t.host.Say(ctx, t.id, id, text)
}

func (t *local) Again(ctx context.Context) (string, error) { return t.host.Again(ctx, t.id, "") }

func (t *local) Edit(ctx context.Context, input, text string) error {
	return t.host.Edit(ctx, t.id, input, text)
}

func (t *local) Remove(ctx context.Context, input string) error {
	return t.host.Remove(ctx, t.id, input)
}

func (t *local) Steer(ctx context.Context, input string) error {
	return t.host.Steer(ctx, t.id, input)
}

func (t *local) Stop(ctx context.Context, turnID string) error {
	return t.host.Stop(ctx, t.id, turnID)
}

func (t *local) Now(ctx context.Context) error { return t.host.Now(ctx, t.id) }

func (t *local) Change(ctx context.Context, s conversation.Settings) error {
	s, err := t.folder.settle(s)
	if err != nil {
		return err
	}
	return t.host.Change(ctx, t.id, s)
}
