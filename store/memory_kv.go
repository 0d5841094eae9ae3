package store

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/store/internal/limit"
)

// memoryEntry is an entry and the timer that expires it.
type memoryEntry struct {
	Entry
	timer *time.Timer // nil: it does not expire
}

func (e *memoryEntry) stop() {
	if e != nil && e.timer != nil {
		e.timer.Stop()
	}
}

// Get implements [KV].
func (m *memory) Get(ctx context.Context, key string) (Entry, error) {
	if err := m.lock(ctx, limit.Entry(key, nil)); err != nil {
		return Entry{}, err
	}
	defer m.mu.Unlock()
	if e := m.entries[key]; e != nil {
		return e.Entry, nil
	}
	return Entry{Key: key}, nil
}

// Put implements [KV].
func (m *memory) Put(ctx context.Context, e Entry, ttl time.Duration) (Entry, error) {
	if err := m.lock(ctx, limit.Entry(e.Key, e.Value)); err != nil {
		return Entry{}, err
	}
	defer m.mu.Unlock()
	old := m.entries[e.Key]
	if old == nil && e.Revision != 0 || old != nil && old.Revision != e.Revision {
		return Entry{}, ErrConflict
	}
	old.stop()
	defer m.notifyWatchers()
	if len(e.Value) == 0 {
		delete(m.entries, e.Key)
		return Entry{Key: e.Key}, nil
	}
	m.seq++
	stored := &memoryEntry{Entry: Entry{Key: e.Key, Value: slices.Clone(e.Value), Revision: m.seq}}
	if ttl > 0 {
		stored.timer = time.AfterFunc(limit.TTL(ttl), func() { m.expire(stored) })
	}
	m.entries[e.Key] = stored
	return stored.Entry, nil
}

// expire deletes an entry unless it was replaced.
func (m *memory) expire(e *memoryEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[e.Key] == e {
		delete(m.entries, e.Key)
		m.notifyWatchers()
	}
}

func (m *memory) notifyWatchers() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Watch implements [KV].
func (m *memory) Watch(ctx context.Context, below string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		seen := map[string]uint64{}
		for {
			changes, changed, err := m.changes(ctx, below, seen)
			for _, e := range changes {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			select {
			case <-changed:
			case <-m.closed:
			case <-ctx.Done():
			}
		}
	}
}

// changes returns the entries below a key that differ from the revisions seen, and
// the channel that is closed at the next change. It updates seen.
func (m *memory) changes(ctx context.Context, below string, seen map[string]uint64) ([]Entry, <-chan struct{}, error) {
	if err := m.lock(ctx, limit.Below(below)); err != nil {
		return nil, nil, err
	}
	defer m.mu.Unlock()
	var changes []Entry
	for _, key := range slices.Sorted(maps.Keys(m.entries)) {
		isBelow := below == "" || strings.HasPrefix(key, below+".")
		if e := m.entries[key].Entry; isBelow && seen[key] != e.Revision {
			seen[key] = e.Revision
			changes = append(changes, e)
		}
	}
	for key := range seen {
		if m.entries[key] == nil {
			delete(seen, key)
			changes = append(changes, Entry{Key: key})
		}
	}
	return changes, m.changed, nil
}
