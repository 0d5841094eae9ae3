package background

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ridethrough/ridethrough/store"
)

// Reservation is a store that no other process can open, and that is not open yet.
type Reservation interface {
	// Unused reports whether nothing has ever been stored: there is nothing to read and nothing to resume.
	Unused() bool
	// Open opens the store and ends the reservation, also if it fails.
	Open(ctx context.Context) (store.Store, error)
	// Lifecycle is that of the reservation: Close ends it.
	store.Lifecycle
}

// OpenWhenUsed is [Open] for a store that can be reserved. One that has been used is opened at once. Another is
// idle until the first operation that stores, listens or waits: until then it is read as what it is, empty. If
// it cannot be opened then, the callers who needed it get the error, and the next one has it opened again.
func OpenWhenUsed(reserve func(context.Context) (Reservation, error), log *slog.Logger) *Store {
	s := newStore(log)
	go s.run(func(ctx context.Context) (store.Store, error) { return s.openWhenUsed(ctx, reserve) })
	return s
}

// openWhenUsed reserves the store and, once it is used, opens it.
func (s *Store) openWhenUsed(ctx context.Context, reserve func(context.Context) (Reservation, error)) (store.Store, error) {
	for {
		r, err := reserve(ctx)
		if err != nil {
			return nil, err
		}
		if !r.Unused() {
			return r.Open(ctx)
		}
		if err := s.awaitUse(ctx, r); err != nil {
			return nil, err
		}
		opened, err := r.Open(ctx)
		if err == nil || ctx.Err() != nil {
			return opened, err
		}
		s.refuse(err)
	}
}

// awaitUse waits until an operation needs a store that has never been used. If ctx ends first, it ends the
// reservation.
func (s *Store) awaitUse(ctx context.Context, r Reservation) error {
	select {
	case <-s.beIdle(r):
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.idle = nil
	s.mu.Unlock()
	s.abandon(r)
	return context.Cause(ctx)
}

// beIdle notes that the store is idle. What it returns is closed when an operation needs the store.
func (s *Store) beIdle(r Reservation) (needed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle, s.needed, s.err = r, make(chan struct{}), s.failure
	if s.failure == nil {
		s.err = fmt.Errorf("%w: nothing has been stored", store.ErrNotOpen)
	}
	s.attempt.end()
	s.announce()
	return s.needed
}

// need has an idle store opened, and returns the latest attempt to do so.
func (s *Store) need() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle != nil {
		s.idle = nil
		s.begin()
		close(s.needed)
	}
	return s.attempt
}

// refuse notes why a store that was idle could not be opened. The operations that need it next wait until it is
// idle again.
func (s *Store) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = fmt.Errorf("%w: %w", store.ErrNotOpen, err)
	s.attempt.err = s.failure
	s.attempt.end()
	s.begin()
	s.log.Error("cannot open the store of conversations; what needs it next tries again", "error", err)
}

// read returns the store for an operation that only reads what is stored now.
func (s *Store) read(ctx context.Context) (store.Store, error) {
	if err := s.latest().await(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle != nil {
		return s.empty, nil
	}
	return s.opened, s.err
}

// idleHealth returns the state of an idle store; false: it is not idle. The lock keeps the reservation from being
// opened meanwhile.
func (s *Store) idleHealth(ctx context.Context) (h store.Health, idle bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		return h, false, nil
	}
	h, err = s.idle.Health(ctx)
	if s.failure != nil {
		h.Warnings = append(h.Warnings, s.failure.Error())
	}
	return h, true, err
}
