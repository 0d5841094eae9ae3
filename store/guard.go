package store

import (
	"fmt"
	"sync/atomic"
	"time"
)

// use is what room is wanted for.
type use int

const (
	accepting use = iota // of new turns
	appending            // to what was accepted
)

const (
	usualReserve = 256 << 20
	lookEvery    = 100 * time.Millisecond
)

// guard keeps the disk from being full: the server takes nothing more after a
// write that failed. New turns are refused first, so that those under way can
// come to their end.
type guard struct {
	dir     string
	limit   int64 // what the store may hold
	reserve int64
	space   func(dir string) (int64, error)
	seen    *atomic.Pointer[room]
}

// room is what there was when somebody looked.
type room struct {
	at   time.Time
	free int64 // on the disk
	left int64 // of what the store may hold
}

func newGuard(c Config) (guard, error) {
	g := guard{dir: c.Dir, limit: c.Bytes, reserve: c.Reserve, space: space, seen: &atomic.Pointer[room]{}}
	if g.reserve == 0 {
		g.reserve = usualReserve
	}
	free, err := space(c.Dir)
	if g.limit == 0 {
		g.limit = max(free, 1<<30)
	}
	return g, err
}

// room refuses what there is no room for. Servers of others look after
// themselves.
func (s *store) room(u use) error {
	if s.own == nil {
		return nil
	}
	return s.own.room(u)
}

func (h *host) room(u use) error {
	r, err := h.look()
	if err != nil {
		return err
	}
	disk, own := h.guard.reserve, h.guard.limit/16
	if u == appending {
		disk, own = disk/4, own/4
	}
	switch {
	case r.free < disk:
		return fmt.Errorf("%w: %d MiB are free on the disk, and %d have to be", ErrFull, r.free>>20, disk>>20)
	case r.left < own:
		return fmt.Errorf("%w: it holds all but %d MiB of the %d that it may", ErrFull, r.left>>20, h.guard.limit>>20)
	case h.log.broken.Load():
		return h.heal()
	}
	return nil
}

// look looks how much room there is, not more often than it has to.
func (h *host) look() (*room, error) {
	r := h.guard.seen.Load()
	if r != nil && time.Since(r.at) <= lookEvery {
		return r, nil
	}
	free, err := h.guard.space(h.guard.dir)
	if err != nil {
		return nil, err
	}
	r = &room{at: time.Now(), free: free, left: h.guard.limit - h.used()}
	h.guard.seen.Store(r)
	return r, nil
}

// used is what the store holds.
func (h *host) used() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int64(h.server.GlobalAccount().JetStreamUsage().Store)
}
