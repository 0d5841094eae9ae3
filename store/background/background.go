// Package background opens a store while its user already works. A gateway answers requests whether or not
// its conversations can be read, so it must not wait for a disk or for servers.
//
// Most stores open within a fraction of a second, so an operation waits for the first attempt, for three
// seconds at most. Then every operation on a store that is not open fails with store.ErrNotOpen and says why.
//
// A server takes memory even if it stores nothing. [OpenWhenUsed] starts none before there is something to store.
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
	available chan struct{} // closed once the store is idle or settled
	settled   chan struct{} // closed once the store is open or never will be
	empty     store.Store   // what is read while the store is idle

	mu      sync.Mutex
	opened  store.Store   // nil: it is not open
	err     error         // why it is not open; nil: it is open
	attempt *attempt      // the latest one that operations wait for
	idle    Reservation   // nil: the store is not idle
	needed  chan struct{} // closed when an operation needs the idle store
	failure error         // why it could not be opened when it was needed last; nil: it could, or never was
}

// attempt is an attempt to open a store, while operations wait for it.
type attempt struct {
	waiting context.Context // ends with the attempt, or with the patience for it
	end     context.CancelFunc
	err     error // why the operations that began it fail; nil: whatever the store's state says
}

// Open returns at once and calls open in the background. While the servers do not answer, another process
// has the store or the disk is full, it tries again; any other error is final.
func Open(open func(context.Context) (store.Store, error), log *slog.Logger) *Store {
	s := newStore(log)
	go s.run(open) // Close waits for it
	return s
}

func newStore(log *slog.Logger) *Store {
	s := &Store{log: log, available: make(chan struct{}), settled: make(chan struct{}), empty: store.Memory()}
	s.lifetime, s.stop = context.WithCancel(context.Background())
	s.begin()
	return s
}

// begin notes that an attempt begins, for which operations wait.
func (s *Store) begin() {
	s.err = fmt.Errorf("%w: it is being opened", store.ErrNotOpen)
	s.attempt = &attempt{}
	s.attempt.waiting, s.attempt.end = context.WithTimeout(s.lifetime, patience)
}

// latest returns the latest attempt.
func (s *Store) latest() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempt
}

// run opens the store, trying again as long as that can help.
func (s *Store) run(open func(context.Context) (store.Store, error)) {
	defer close(s.settled)
	defer func() { s.latest().end() }()
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
		final := s.isFinal(err)
		s.fail(err, final)
		if final {
			return
		}
		s.latest().end()
		if retry.Sleep(s.lifetime, delay) != nil {
			return
		}
	}
}

// isFinal reports whether a store cannot be opened later without help. One that was idle is tried again in any
// case: it could be opened once.
func (s *Store) isFinal(err error) bool {
	transient := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrInUse) || errors.Is(err, store.ErrFull)
	return !transient && !s.isAvailable()
}

// isAvailable reports whether the store has been idle or is open.
func (s *Store) isAvailable() bool {
	select {
	case <-s.available:
		return true
	default:
		return false
	}
}

// abandon closes what was opened or reserved too late.
func (s *Store) abandon(opened store.Lifecycle) {
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
	s.announce()
}

// announce notes that operations are answered from now on.
func (s *Store) announce() {
	if !s.isAvailable() {
		close(s.available)
		s.log.Info("conversations are available")
	}
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

// Wait waits until the store is open, which one that is idle may never be. It returns an error if ctx ends
// first, or if the store cannot be opened or is closed before it is open.
func (s *Store) Wait(ctx context.Context) error {
	select {
	case <-s.settled:
		_, err := s.current()
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Available waits until the store is open or idle: this process has it. The errors are those of [Store.Wait].
func (s *Store) Available(ctx context.Context) error {
	select {
	case <-s.available:
		return nil
	case <-s.settled:
		return s.Wait(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// use returns the store for an operation that needs it open. It waits for the attempt in progress or, if the
// store is idle, for one that it begins.
func (s *Store) use(ctx context.Context) (store.Store, error) {
	if err := s.latest().await(ctx); err != nil {
		return nil, err
	}
	a := s.need()
	if err := a.await(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil && a.err != nil {
		return nil, a.err
	}
	return s.opened, s.err
}

// await waits for the attempt.
func (a *attempt) await(ctx context.Context) error {
	select {
	case <-a.waiting.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// current returns the store, or the reason why it is not open.
func (s *Store) current() (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.err
}

// Close ends the attempts and closes the store. An attempt in progress may go on after ctx has ended; what it
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
