package conversation_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/store"
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
