package jetstream

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/disk"
)

// purpose is what a write is for.
type purpose int

const (
	newWork      purpose = iota // a job that is accepted
	acceptedWork                // what an accepted turn writes
)

const (
	defaultReserve = 256 << 20
	checkInterval  = 100 * time.Millisecond
)

// capacity keeps the disk from filling up, because a server refuses all writes after a failed one. New work
// is refused first, so that turns in progress can end.
type capacity struct {
	dir       string
	maxBytes  int64 // of the store
	reserve   int64
	freeBytes func(dir string) (int64, error)
	last      *atomic.Pointer[space]
}

// space is what was free at an instant.
type space struct {
	at    time.Time
	disk  int64
	store int64 // of what the store may hold
}

func newCapacity(c Config) (capacity, error) {
	k := capacity{dir: c.Dir, maxBytes: c.Bytes, reserve: c.Reserve, freeBytes: disk.Free, last: &atomic.Pointer[space]{}}
	if k.reserve == 0 {
		k.reserve = defaultReserve
	}
	free, err := disk.Free(c.Dir)
	if k.maxBytes == 0 {
		k.maxBytes = max(free, 1<<30)
	}
	return k, err
}

// checkCapacity returns ErrFull if there is no space for a write. Remote servers check for themselves.
func (b *backend) checkCapacity(p purpose) error {
	if b.server == nil {
		return nil
	}
	return b.server.checkCapacity(p)
}

func (s *embeddedServer) checkCapacity(p purpose) error {
	free, err := s.measureSpace()
	if err != nil {
		return err
	}
	onDisk, inStore := s.capacity.reserve, s.capacity.maxBytes/16
	if p == acceptedWork {
		onDisk, inStore = onDisk/4, inStore/4
	}
	switch {
	case free.disk < onDisk:
		return fmt.Errorf("%w: the disk has %d MiB free and needs %d", store.ErrFull, free.disk>>20, onDisk>>20)
	case free.store < inStore:
		return fmt.Errorf("%w: %d MiB are left of the %d that it may hold", store.ErrFull, free.store>>20, s.capacity.maxBytes>>20)
	case s.log.writeFailed.Load():
		return s.restartAfterFailure()
	}
	return nil
}

// measureSpace returns what is free, as of checkInterval ago at the earliest.
func (s *embeddedServer) measureSpace() (*space, error) {
	free := s.capacity.last.Load()
	if free != nil && time.Since(free.at) <= checkInterval {
		return free, nil
	}
	onDisk, err := s.capacity.freeBytes(s.capacity.dir)
	if err != nil {
		return nil, err
	}
	free = &space{at: time.Now(), disk: onDisk, store: s.capacity.maxBytes - s.storedBytes()}
	s.capacity.last.Store(free)
	return free, nil
}

func (s *embeddedServer) storedBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return 0
	}
	return int64(s.server.GlobalAccount().JetStreamUsage().Store)
}
