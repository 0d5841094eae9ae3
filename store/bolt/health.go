package bolt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// slowSync is the fsync latency above which an operator is warned: each append waits for one.
const slowSync = 50 * time.Millisecond

// Health implements [store.Lifecycle].
func (s *boltStore) Health(ctx context.Context) (store.Health, error) {
	if err := s.begin(ctx, nil); err != nil {
		return store.Health{}, err
	}
	h := store.Health{Mode: "standalone", Dir: s.config.Dir, Replicas: 1, SyncLatency: s.syncLatency, Losses: s.losses.list()}
	err := s.view(func(f file) error {
		h.Bytes, h.Logs = uint64(f.tx.Size()-s.unused()), int64(f.heads.Stats().KeyN)
		return nil
	})
	if err == nil {
		err = s.countJobs(&h)
	}
	switch {
	case errors.Is(err, errDamaged):
		h.Warnings = append(h.Warnings, err.Error())
	case err != nil:
		return h, annotate("read health", err)
	}
	if free, err := freeBytes(s.config.Dir); err == nil {
		h.FreeBytes = uint64(max(0, free))
	}
	if err := s.checkSpace(); err != nil {
		h.Full, h.Warnings = true, append(h.Warnings, err.Error())
	}
	if s.syncLatency > slowSync {
		h.Warnings = append(h.Warnings, fmt.Sprintf("the disk is slow: it takes %v to sync a write, and all that is stored waits for one", s.syncLatency.Round(time.Millisecond)))
	}
	return h, nil
}

// countJobs counts the jobs. The lock of the queue comes before a transaction, as in leaseNext: while the file is to
// grow, the next transaction waits for those that have begun.
func (s *boltStore) countJobs(h *store.Health) error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.view(func(f file) error {
		due := int64(0)
		c := f.jobs.Cursor()
		for key, _ := c.First(); key != nil && !dueAt(key).After(time.Now()); key, _ = c.Next() {
			due++
		}
		h.Leased = int64(len(s.queue.leases))
		h.Due, h.Scheduled = max(0, due-h.Leased), max(0, int64(f.jobs.Stats().KeyN)-due)
		return nil
	})
}

// unused returns how many bytes of the file are free: it never becomes smaller, and is filled again.
func (s *boltStore) unused() int64 {
	return int64(s.db.Stats().FreePageN) * s.pageSize
}

// checkSpace returns ErrFull if new work would leave too little space on the disk and in the file: turns in progress
// are to end.
func (s *boltStore) checkSpace() error {
	free, err := freeBytes(s.config.Dir)
	if free += s.unused(); err == nil && free < s.config.Reserve {
		return fmt.Errorf("%w: there are %d MiB free and %d needed", store.ErrFull, free>>20, s.config.Reserve>>20)
	}
	return err
}

// maxLosses is how many losses are reported.
const maxLosses = 100

// losses are what was noticed since the store was opened.
type losses struct {
	mu  sync.Mutex
	all []store.Loss
}

// add adds a loss, and reports whether it is new: a damaged log is read again and again.
func (l *losses) add(one store.Loss) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := func(o store.Loss) bool {
		return one.Conversation != "" && o.Conversation == one.Conversation && o.N == one.N
	}
	if slices.ContainsFunc(l.all, known) {
		return false
	}
	l.all = append(l.all[max(0, len(l.all)-maxLosses+1):], one)
	return true
}

func (l *losses) list() []store.Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// noteDamage notes the damage of a log.
func (s *boltStore) noteDamage(d *store.Damage) {
	lost := store.Loss{Noticed: time.Now().UTC(), Messages: uint64(max(1, d.Next-d.N)), Conversation: d.Conversation, N: d.N}
	if s.losses.add(lost) {
		s.config.Log.Error("records in the store are damaged", "error", d)
	}
}

// syncLatency returns how long an fsync in dir takes at best.
func syncLatency(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "sync-*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	best := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		if _, err := f.Write(make([]byte, 4<<10)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}
