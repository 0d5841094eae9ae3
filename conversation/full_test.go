package conversation_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// tight is a store that has no room left.
type tight struct {
	store.Store
	full atomic.Bool
}

func (e *tight) Append(ctx context.Context, c string, at store.Position, records ...store.Record) (store.Position, error) {
	if e.full.Load() {
		return store.Position{}, store.ErrFull
	}
	return e.Store.Append(ctx, c, at, records...)
}

func (e *tight) Enqueue(ctx context.Context, t store.Job) error {
	if e.full.Load() {
		return store.ErrFull
	}
	return e.Store.Enqueue(ctx, t)
}

func (e *tight) Schedule(ctx context.Context, t store.Job, at time.Time) error {
	if e.full.Load() {
		return store.ErrFull
	}
	return e.Store.Schedule(ctx, t, at)
}

func TestATurnOutlastsADiskThatIsFull(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 7 * time.Second, 40 * time.Second, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var u upstream
			h := newHouse(t)
			e := &tight{Store: h.engine}
			h.config.Store, h.model = e, &u
			host, _ := h.host()
			c := h.create(host)
			h.say(host, c, "1")
			h.say(host, c, "2")
			time.Sleep(after)
			e.full.Store(true)
			before := u.asked.Load()
			time.Sleep(10 * time.Minute)
			if asked := u.asked.Load() - before; asked > 2 {
				t.Errorf("%v: %d requests whose answers nobody can keep", after, asked)
			}
			e.full.Store(false)
			u.up.Store(true)
			time.Sleep(time.Hour)
			if all := kinds(t, h.engine, c); count(all, "turn-sealed") != 2 || unsealed(t, host, []string{c}) > 0 {
				t.Errorf("%v: %q", after, all)
			}
		})
	}
}
