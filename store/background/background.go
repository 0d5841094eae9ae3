// Package background opens a store while its user already works. A gateway answers requests whether or not
// its conversations can be read, so it must not wait for a disk or for servers.
//
// Most stores open within a fraction of a second, so an operation waits for the first attempt, for three
// seconds at most. Then every operation on a store that is not open fails with store.ErrNotOpen and says why.
package background

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/store"
)

const (
	patience = 3 * time.Second // of operations, from the beginning of the first attempt

	// The delay between two attempts doubles.
	firstDelay   = time.Second
	longestDelay = 30 * time.Second
)

// Store is a store that is opened in the background. Its methods may be called concurrently.
type Store struct {
	log       *slog.Logger
	lifetime  context.Context // of the attempts
	stop      context.CancelFunc
	settled   chan struct{}   // closed once the store is open or never will be
	waiting   context.Context // of operations: ends with the first attempt, or with the patience for it
	stopWaits context.CancelFunc

	mu     sync.Mutex
	opened store.Store // nil: it is not open
	err    error       // why it is not open; nil: it is open
}

// Open returns at once and calls open in the background. While the servers do not answer, another process
// has the store or the disk is full, it tries again; any other error is final.
func Open(open func(context.Context) (store.Store, error), log *slog.Logger) *Store {
	s := &Store{log: log, settled: make(chan struct{}), err: fmt.Errorf("%w: it is being opened", store.ErrNotOpen)}
	s.lifetime, s.stop = context.WithCancel(context.Background())
	s.waiting, s.stopWaits = context.WithTimeout(s.lifetime, patience)
	go s.run(open) // Close waits for it
	return s
}

// run opens the store, trying again as long as that can help.
func (s *Store) run(open func(context.Context) (store.Store, error)) {
	defer close(s.settled)
	defer s.stopWaits()
	for delay := firstDelay; ; delay = min(2*delay, longestDelay) {
		opened, err := open(s.lifetime)
		if s.lifetime.Err() != nil {
			s.abandon(opened)
			return
		}
		if err == nil {
			s.succeed(opened)
			return
		}
		final := isFinal(err)
		s.fail(err, final)
		if final {
			return
		}
		s.stopWaits()
		if retry.Sleep(s.lifetime, delay) != nil {
			return
		}
	}
}

// isFinal reports whether a store cannot be opened later without help.
func isFinal(err error) bool {
	return !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrInUse) && !errors.Is(err, store.ErrFull)
}

// abandon closes a store that was opened too late.
func (s *Store) abandon(opened store.Store) {
	if opened == nil {
		return
	}
	if err := opened.Close(context.Background()); err != nil {
		s.log.Error("close the store of conversations", "error", err)
	}
}

func (s *Store) succeed(opened store.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened, s.err = opened, nil
	s.log.Info("conversations are available")
}

// fail notes why the store is not open, and logs it if that is new.
func (s *Store) fail(err error, final bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.err
	s.err = fmt.Errorf("%w: %w", store.ErrNotOpen, err)
	switch {
	case final:
		s.log.Error("conversations are off: cannot open their store", "error", err)
	case last.Error() != s.err.Error():
		s.log.Warn("conversations are off until their store can be opened", "error", err)
	}
}

// Wait waits until the store is open. It returns an error if ctx ends first, or if the store cannot be opened or is
// closed before it is open.
func (s *Store) Wait(ctx context.Context) error {
	select {
	case <-s.settled:
		_, err := s.current()
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// use returns the store for an operation, which waits for the first attempt to open it.
func (s *Store) use(ctx context.Context) (store.Store, error) {
	select {
	case <-s.waiting.Done():
		return s.current()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// current returns the store, or the reason why it is not open.
func (s *Store) current() (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.err
}

// Close ends the attempts and closes the store. An attempt in progress may continue after ctx has ended; what it
// opens is closed at once.
func (s *Store) Close(ctx context.Context) error {
	s.stop()
	select {
	case <-s.settled:
	case <-ctx.Done():
		return fmt.Errorf("close a store that is being opened: %w", context.Cause(ctx))
	}
	s.mu.Lock()
	opened := s.opened
	if opened == nil && !errors.Is(s.err, store.ErrClosed) {
		s.err = fmt.Errorf("%w: %w", store.ErrClosed, s.err)
	}
	s.mu.Unlock()
	if opened == nil {
		return nil
	}
	return opened.Close(ctx)
}
