package session_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/engine"
)

// tight is an engine that has no room left.
type tight struct {
	engine.Engine
	full atomic.Bool
}

func (e *tight) Append(ctx context.Context, c string, at engine.Position, records ...engine.Record) (engine.Position, error) {
	if e.full.Load() {
		return engine.Position{}, engine.ErrFull
	}
	return e.Engine.Append(ctx, c, at, records...)
}

func (e *tight) Offer(ctx context.Context, t engine.Ticket) error {
	if e.full.Load() {
		return engine.ErrFull
	}
	return e.Engine.Offer(ctx, t)
}

func (e *tight) Park(ctx context.Context, t engine.Ticket, at time.Time) error {
	if e.full.Load() {
		return engine.ErrFull
	}
	return e.Engine.Park(ctx, t, at)
}

func TestATurnOutlastsADiskThatIsFull(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 7 * time.Second, 40 * time.Second, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var u upstream
			h := newHouse(t)
			e := &tight{Engine: h.engine}
			h.config.Engine, h.model = e, &u
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
