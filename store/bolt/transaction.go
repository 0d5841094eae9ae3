package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/ridethrough/ridethrough/store"
)

// errDamaged reports that a part of the file cannot be read.
var errDamaged = errors.New("the file is damaged")

// guard calls do, and returns an error if it panics: bbolt trusts its file, and a damaged page makes it fail
// anywhere, also with an address outside of the mapped file.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return do()
}

// translate returns the errors of package store for those of the file.
func translate(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%w: another program has locked the file", store.ErrInUse)
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return store.ErrClosed
	}
	return err
}

// view reads the file as it is now. A reader must end soon: the file cannot grow meanwhile. So nothing is yielded
// from within.
func (s *boltStore) view(do func(file) error) error {
	return translate(guard(func() error {
		tx, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // it only ends the reading
		f, err := newFile(tx)
		if err != nil {
			return err
		}
		return do(f)
	}))
}

// update changes the file, wholly or not at all. Only the committer calls it, and open before there is one.
func (s *boltStore) update(do func(file) error) error {
	if s.writes.broken != nil {
		return s.writes.broken
	}
	var tx *bbolt.Tx
	err := guard(func() (err error) {
		if tx, err = s.db.Begin(true); err != nil {
			return err
		}
		f, err := newFile(tx)
		if err != nil {
			return err
		}
		if err := do(f); err != nil {
			return err
		}
		return tx.Commit()
	})
	if err == nil {
		return nil
	}
	if tx == nil && errors.Is(err, errDamaged) {
		s.writes.broken = err // bbolt has kept its lock
	} else if tx != nil {
		if failed := guard(tx.Rollback); errors.Is(failed, errDamaged) {
			s.writes.broken = failed
		}
	}
	return translate(err)
}

// write is a change that waits for its commit.
type write struct {
	do    func(file) error
	after func() // called in the order of the commits; nil: nothing follows
	err   error
	done  chan struct{}
}

// writes are the changes that wait for the committer. It commits all that have arrived during the commit before: one
// writer never waits for others, and many share an fsync. bbolt's own Batch delays every write for that, and calls
// its functions where a panic cannot be recovered.
type writes struct {
	mu        sync.Mutex
	waiting   []*write
	ended     bool
	wake      chan struct{} // has an element if changes wait
	committer sync.WaitGroup
	broken    error // why no transaction can begin any more; nil: it can
}

// batch is how many changes are committed together.
const batch = 1024

// write has a change committed.
func (s *boltStore) write(ctx context.Context, do func(file) error, after func()) error {
	w := &write{do: do, after: after, done: make(chan struct{})}
	if !s.writes.add(w) {
		return store.ErrClosed
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (q *writes) add(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return false
	}
	q.waiting = append(q.waiting, w)
	q.notify()
	return true
}

func (q *writes) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// end accepts no more changes and closes a channel, once.
func (q *writes) end(closed chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return false
	}
	q.ended = true
	close(closed)
	q.notify()
	return true
}

// next returns the changes to be committed together; false: there will be no more.
func (q *writes) next() ([]*write, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), batch)
	all := q.waiting[:n:n]
	if q.waiting = q.waiting[n:]; len(q.waiting) > 0 {
		q.notify()
	}
	return all, n > 0 || !q.ended
}

// commitAll commits changes until the store is closed.
func (s *boltStore) commitAll() {
	for all, more := s.writes.next(); more; all, more = s.writes.next() {
		if len(all) == 0 {
			<-s.writes.wake
			continue
		}
		s.commit(all)
	}
}

// errNothing rolls a transaction back in which nothing was changed.
var errNothing = errors.New("nothing to commit")

// commit commits changes. If that fails, each is tried alone: it may be the only one that is possible.
func (s *boltStore) commit(all []*write) {
	err := s.update(func(f file) error {
		changed := false
		for _, w := range all {
			if w.err = w.do(f); w.err != nil && !isRefusal(w.err) {
				return w.err
			}
			changed = changed || w.err == nil
		}
		if !changed {
			return errNothing
		}
		return nil
	})
	failed := err != nil && !errors.Is(err, errNothing)
	if failed && len(all) > 1 {
		for _, w := range all {
			s.commit([]*write{w})
		}
		return
	}
	for _, w := range all {
		if failed {
			w.err = err
		} else if errors.Is(w.err, errNothing) {
			w.err = nil
		} else if w.err == nil && w.after != nil {
			w.after()
		}
		close(w.done)
	}
}

// isRefusal reports whether a change was refused before it changed anything.
func isRefusal(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrDeleted) || errors.Is(err, errNothing)
}
