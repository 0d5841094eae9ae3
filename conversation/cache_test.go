package conversation_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
)

// readingStore counts how often a record is read from its beginning.
type readingStore struct {
	store.Store
	whole int
}

func (s *readingStore) Read(ctx context.Context, conversation string, after int64) iter.Seq2[store.Record, error] {
	if after == 0 {
		s.whole++
	}
	return s.Store.Read(ctx, conversation, after)
}

// A runner reads a conversation's record once, whatever it is asked to do and whether it can.
func TestRunner_ReadsTheRecordOnce(t *testing.T) {
	h := newFixture(t)
	s := &readingStore{Store: h.engine}
	h.config.Store = s
	r, ctx := conversation.New(h.config), t.Context() // no worker runs
	c := h.create(r)
	say := func(id string) error { _, err := r.Submit(ctx, c, id, "hello"); return err }
	again := func() error { _, err := r.RetryTurn(ctx, c, ""); return err }
	for _, tt := range []struct {
		name string
		do   func() error
		want error
	}{
		{"Submit", func() error { return errors.Join(say("t1"), say("t2"), say("t3")) }, nil},
		{"Submit again", func() error { return say("t1") }, nil},
		{"Edit", func() error { return r.Edit(ctx, c, "t1", "hello again") }, nil},
		{"Edit of none", func() error { return r.Edit(ctx, c, "t9", "hello again") }, conversation.ErrNotQueued},
		{"Steer", func() error { return r.Steer(ctx, c, "t2") }, nil},
		{"Remove", func() error { return r.Remove(ctx, c, "t3") }, nil},
		{"Remove of none", func() error { return r.Remove(ctx, c, "t3") }, conversation.ErrNotQueued},
		{"RetryTurn", again, conversation.ErrAnswered},
		{"Stop", func() error { return r.Stop(ctx, c, "") }, conversation.ErrIdle},
		{"RetryNow", func() error { return r.RetryNow(ctx, c) }, conversation.ErrIdle},
		{"Move", func() error { return r.Move(ctx, c, "acme/other") }, conversation.ErrIdle},
		{"Answer", func() error { return r.Answer(ctx, c, "call", turn.Deny) }, conversation.ErrNotAsked},
		{"Change", func() error { return r.Change(ctx, c, conversation.Settings{Model: "acme/other"}) }, nil},
		{"Pause", func() error { return r.Pause(ctx, c) }, nil},
		{"Resume", func() error { return r.Resume(ctx, c) }, nil},
	} {
		if err := tt.do(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if s.whole != 1 {
			t.Errorf("%s: the record has been read %d times from its beginning by now, want once", tt.name, s.whole)
			s.whole = 1
		}
	}
}

// losingStore loses records at an append, of which another one comes first.
type losingStore struct {
	store.Store
	rest store.Store // what is left; nil: they are lost
}

func (s *losingStore) Append(ctx context.Context, conversation string, at store.Position, records ...store.Record) (store.Position, error) {
	if s.rest == nil {
		return s.Store.Append(ctx, conversation, at, records...)
	}
	s.Store, s.rest = s.rest, nil
	return store.Position{}, store.ErrConflict
}

// What a store has lost while a command appends is not remembered: the next command reads what is left.
func TestRunner_ForgetsRecordsThatAreGone(t *testing.T) {
	left, s := newFixture(t), &losingStore{Store: newFixture(t).engine}
	r := conversation.New(conversation.Config{Store: s})
	ctx, id := t.Context(), conversation.NewID()
	_, err := r.Create(ctx, id, conversation.Settings{Model: "acme/large"})
	_, made := conversation.New(left.config).Create(ctx, id, conversation.Settings{Model: "acme/large"})
	_, first := r.Submit(ctx, id, "t1", "hello")
	_, second := r.Submit(ctx, id, "t2", "hello")
	if err := errors.Join(err, made, first, second); err != nil {
		t.Fatalf("prepare the conversation: %v", err)
	}
	s.rest = left.engine
	if _, damaged := errors.AsType[*store.Damage](r.Edit(ctx, id, "t2", "hello again")); !damaged {
		t.Error("an edit whose conflict shows that records are gone reports no damage")
	}
	if v, err := r.Get(ctx, id); err != nil || v.Last != 1 {
		t.Errorf("the conversation then: %d records, %v; want the one that is left", v.Last, err)
	}
}
