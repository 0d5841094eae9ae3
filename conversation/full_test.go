package conversation_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
)

// fullStore is a store without room.
type fullStore struct {
	store.Store
	full atomic.Bool
}

func (e *fullStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	if e.full.Load() {
		return store.Position{}, store.ErrFull
	}
	return e.Store.Append(ctx, c, at, records...)
}

func (e *fullStore) Enqueue(ctx context.Context, t store.Job) error {
	if e.full.Load() {
		return store.ErrFull
	}
	return e.Store.Enqueue(ctx, t)
}

func (e *fullStore) Schedule(ctx context.Context, t store.Job, at time.Time) error {
	if e.full.Load() {
		return store.ErrFull
	}
	return e.Store.Schedule(ctx, t, at)
}

func TestRunner_TurnOutlastsFullDisk(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 7 * time.Second, 40 * time.Second, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var u upstream
			h := newFixture(t)
			e := &fullStore{Store: h.engine}
			h.config.Store, h.model = e, &u
			runner, _ := h.runner()
			c := h.create(runner)
			h.say(runner, c, "1")
			h.say(runner, c, "2")
			time.Sleep(after)
			e.full.Store(true)
			before := u.asked.Load()
			time.Sleep(10 * time.Minute)
			if asked := u.asked.Load() - before; asked > 2 {
				t.Errorf("%v: %d requests whose answers cannot be recorded", after, asked)
			}
			e.full.Store(false)
			u.up.Store(true)
			time.Sleep(time.Hour)
			if all := kinds(t, h.engine, c); count(all, "turn-sealed") != 2 || unsealed(t, runner, []string{c}) > 0 {
				t.Errorf("%v: %q", after, all)
			}
		})
	}
}

// tightStore is a store that has no room for large records.
type tightStore struct{ fullStore }

func (s *tightStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	if s.full.Load() && len(records[0].Body) > 1000 {
		return at, store.ErrFull
	}
	return s.Store.Append(ctx, c, at, records...)
}

// An answer for which the disk has no space waits for it. It is neither asked for again nor does its turn fail, though
// there is space to note each failure.
func TestRunner_AnswerWaitsForSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Second, llmtest.Says(strings.Repeat("a long answer ", 100))))
		e := &tightStore{fullStore{Store: h.engine}}
		h.config.Store = e
		runner, _ := h.runner()
		c := h.create(runner)
		id := h.say(runner, c, "hello")
		e.full.Store(true)
		time.Sleep(time.Hour)
		e.full.Store(false)
		time.Sleep(time.Minute)
		if got, asked := turns(t, runner, c), len(h.model.(*llmtest.Model).Requests()); got[id] != turn.Done || asked != 1 {
			t.Errorf("got the turns %v after %d requests, want %s done after one", got, asked, id)
		}
	})
}

// closedStore is a store that is too full for new work, and whose appends take a while.
type closedStore struct {
	fullStore
	slow atomic.Int64 // nanoseconds
}

func (s *closedStore) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	time.Sleep(time.Duration(s.slow.Load()))
	return s.Store.Append(ctx, c, at, records...)
}

func (s *closedStore) Schedule(ctx context.Context, t store.Job, at time.Time) error {
	return s.Store.Schedule(ctx, t, at)
}

// What has been accepted continues in a store that takes no new work: its own input, the next one, a parked turn.
func TestRunner_AcceptedWorkGoesOnInAFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		e := &closedStore{fullStore: fullStore{Store: h.engine}}
		h.config.Store, h.model = e, &u
		runner, end := h.runner()
		c := h.create(runner)
		h.say(runner, c, "1")
		h.say(runner, c, "2")
		e.slow.Store(int64(6 * time.Second))
		go func() {
			time.Sleep(time.Second)
			e.full.Store(true) // while the third one is appended
		}()
		h.say(runner, c, "3")
		e.slow.Store(0)
		time.Sleep(time.Minute)
		u.up.Store(true)
		time.Sleep(time.Second)
		if err := runner.RetryNow(t.Context(), c); err != nil {
			t.Errorf("retry now: %v", err)
		}
		time.Sleep(10 * time.Minute)
		end()
		if all := kinds(t, h.engine, c); count(all, "turn-sealed") != 3 {
			t.Errorf("got %d turns sealed of %q, want 3", count(all, "turn-sealed"), all)
		}
	})
}
