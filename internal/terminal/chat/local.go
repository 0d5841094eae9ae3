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

type local struct {
	folder   Folder
	id       string
	workDir  string // the working directory in which it was created
	store    store.Store
	runner   *conversation.Runner
	hasInput bool // as of the last summary

	stop  func() // ends the runner and the writer of the summary
	tasks sync.WaitGroup
	close func() error // once
}

// override changes the settings of a conversation that is opened, and checks them.
func (l *local) override(ctx context.Context) error {
	v, err := l.runner.Get(ctx, l.id)
	if err != nil {
		return err
	}
	if l.folder.Override != nil {
		v.Settings = l.folder.Override(v.Settings)
	}
	return l.change(ctx, v.Settings)
}

func (l *local) start(ctx context.Context) (tui.Conversation, error) {
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx)) // it runs until Close
	l.close = sync.OnceValue(l.closeOnce)
	v, err := l.runner.Get(ctx, l.id)
	if err != nil {
		l.stop()
		return nil, errors.Join(err, l.store.Close(ctx))
	}
	l.writeSummary(ctx)
	events := l.runner.Attach(ctx, l.id, v.Last)
	l.tasks.Go(func() { l.updateSummary(ctx, events) })
	l.tasks.Go(func() { l.folder.warn("run conversation", l.id, l.runner.Run(ctx)) })
	return l, nil
}

// updateSummary writes the summary after each event except deltas.
func (l *local) updateSummary(ctx context.Context, events iter.Seq2[wire.Event, error]) {
	for e, err := range events {
		if err != nil {
			l.folder.warn("follow conversation", l.id, err)
			return
		}
		t, _ := e.Body.(wire.Turn)
		switch t.Event.(type) {
		case turn.TextDelta, turn.ReasoningDelta:
		default:
			l.writeSummary(ctx)
		}
	}
}

func (l *local) writeSummary(ctx context.Context) {
	v, err := l.runner.Get(ctx, l.id)
	if err == nil {
		l.hasInput = l.hasInput || hasInput(ctx, l.runner, l.id)
		s := summary{View: shorten(v), WorkDir: l.workDir, HasInput: l.hasInput, Open: true}
		err = s.write(l.folder.path(l.id))
	}
	if ctx.Err() == nil {
		l.folder.warn("write conversation summary", l.id, err)
	}
}

// hasInput reports whether a conversation has more than settings.
func hasInput(ctx context.Context, r *conversation.Runner, id string) bool {
	for e, err := range r.History(ctx, id, 0) {
		if _, settings := e.Body.(wire.ConversationChanged); !settings || err != nil {
			return true
		}
	}
	return false
}

// Close stores the turns in progress, which continue when the conversation is opened again. It removes a
// conversation without input.
func (l *local) Close() error { return l.close() }

func (l *local) closeOnce() error {
	l.stop()
	l.tasks.Wait()
	s, err := l.closeStore(context.Background())
	if err == nil && !s.HasInput {
		err = l.folder.remove(l.id)
	}
	return err
}

// closeStore closes the store, which no longer runs anything, and writes the summary.
func (l *local) closeStore(ctx context.Context) (s summary, err error) {
	s = summary{WorkDir: l.workDir, Opened: lastOpened(l.folder.path(l.id))}
	s.View, s.HasInput, err = l.state(ctx)
	if err := errors.Join(err, l.store.Close(ctx)); err != nil {
		return s, err
	}
	return s, s.write(l.folder.path(l.id))
}

// state returns the view of the conversation, and whether to keep the store: for its inputs, or for other
// conversations in it.
func (l *local) state(ctx context.Context) (v conversation.View, keep bool, err error) {
	v, err = l.runner.Get(ctx, l.id)
	switch {
	case err == nil && hasInput(ctx, l.runner, l.id):
		return shorten(v), true, nil
	case err != nil && !errors.Is(err, conversation.ErrNotFound): // not found: its process died as it created it
		return v, true, err
	}
	for other, err := range l.store.Conversations(ctx, "") {
		if err != nil || other.ID != l.id {
			return shorten(v), true, err
		}
	}
	return shorten(v), false, nil
}

func (l *local) ID() string { return l.id }

func (l *local) Get(ctx context.Context) (conversation.View, error) { return l.runner.Get(ctx, l.id) }

func (l *local) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return l.runner.Attach(ctx, l.id, after)
}

func (l *local) Do(ctx context.Context, c tui.Command) error {
	switch c := c.(type) {
	case tui.Send:
		_, err := l.runner.Submit(ctx, l.id, c.ID, c.Text, c.Images...)
		return err
	case tui.Compact:
		_, err := l.runner.Compact(ctx, l.id, c.ID, c.Instruction)
		return err
	case tui.Remove:
		return l.runner.Remove(ctx, l.id, c.ID)
	case tui.Steer:
		return l.runner.Steer(ctx, l.id, c.ID)
	case tui.Retry:
		retry := l.runner.RetryTurn
		if c.UntilReset {
			retry = l.runner.WaitForWindow
		}
		_, err := retry(ctx, l.id, c.ID)
		return err
	case tui.Move:
		return l.move(ctx, c.Model)
	case tui.Pause:
		return l.runner.Pause(ctx, l.id)
	case tui.Unpause:
		return l.runner.Resume(ctx, l.id)
	case tui.RetryNow:
		return l.runner.RetryNow(ctx, l.id)
	case tui.Cancel:
		return l.runner.Stop(ctx, l.id, c.ID)
	case tui.Answer:
		return l.runner.Answer(ctx, l.id, c.Call, c.Decision)
	case tui.Change:
		return l.change(ctx, c.Settings)
	}
	return nil
}

func (l *local) move(ctx context.Context, model string) error {
	v, err := l.runner.Get(ctx, l.id)
	if err != nil {
		return err
	}
	v.Settings.Model = model
	if _, err := l.folder.validate(v.Settings); err != nil {
		return err
	}
	return l.runner.Move(ctx, l.id, model)
}

func (l *local) change(ctx context.Context, s conversation.Settings) error {
	s, err := l.folder.validate(s)
	if err != nil {
		return err
	}
	return l.runner.Change(ctx, l.id, s)
}
