package fleet

import (
	"bytes"
	"cmp"
	"container/list"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// The bounds of what is believed of another replica, and of what is kept of a deletion.
const (
	maxKey     = 1 << 10
	maxValue   = 8 << 10
	maxVersion = 1 << 40 // by which a version may be later than all that are known
	deletion   = time.Minute
	answerGap  = time.Second // before the next answer to a replica that has missed something, for each part of this one
)

// Entry is a value that a replica has put into a [Map].
type Entry[V any] struct {
	Key   string
	Owner string    // the replica
	Value V         // the zero value if it is gone
	At    time.Time // when it was put, by the clock here
	Gone  bool      // it was deleted, has expired, or has gone with its owner
}

// Options say how the entries of a [Map] live.
type Options[V any] struct {
	MaxTTL   time.Duration  // of an entry
	OfOne    int            // entries of one replica; the one that was put first makes room
	OfAll    int            // of all; the first one of the replica with the most makes room
	Common   bool           // a key has one value, the one that was put last; false: one of each replica
	Outlives bool           // an entry is kept for its TTL though its owner has gone
	Prefix   int            // how much of a key [Map.Knows] asks for
	Changed  func(Entry[V]) // called after another replica's put, and when an entry of one is gone; nil: for none
}

// Map is a replica's copy of a map of a fleet: each replica puts entries, and all have them soon. Its methods may be
// called concurrently, and do not block. Values are sent as JSON, with their instants as durations from the put: they are
// by the clock of the replica that has the value.
//
// An entry lives for its TTL by each replica's own clock. The latest put of a key wins: its version is later than all
// that its owner has seen in the map; on two sides of a partition the greater version, or value. A sign of life says how
// many puts there were: a replica that has missed some, such as a newcomer, asks for all that lives. A deletion is known
// for a minute: what a replica puts again that was cut off for longer lives until its TTL.
type Map[V any] struct {
	Options[V]
	fleet *Fleet
	kind  string

	delivery sync.Mutex // orders the calls of Changed; before mu

	mu      sync.Mutex
	entries map[string][]*entry[V] // by key, those of a key in the order of their owners
	owners  map[string]*owner
	version int64 // the latest that was seen
	n       int
	pending []*entry[V]    // that are not sent so far
	sent    int64          // puts
	others  map[string]int // entries of other replicas, by prefix
	foreign atomic.Int64   // all of these
}

// entry is an entry of a map. Without a value it says that the key was deleted.
type entry[V any] struct {
	put
	value     V
	owner     *owner
	at, until time.Time
	unsent    bool
	place     *list.Element // in the owner's
}

// owner is a replica as a map knows it.
type owner struct {
	id      string
	entries list.List // in the order in which they came
	known   int64     // of its puts, as far as all before are known; below 0: nothing that lives was asked for
	asks    time.Time // from then on it is sent all that lives
}

// NewMap returns a map of a kind, which all replicas must have alike.
func NewMap[V any](f *Fleet, kind string, o Options[V]) *Map[V] {
	m := &Map[V]{Options: o, fleet: f, kind: kind, entries: map[string][]*entry[V]{}, owners: map[string]*owner{}, others: map[string]int{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.maps[kind] = m
	return m
}

// Put sets the value of a key. One that is too large, or no JSON, is not put.
func (m *Map[V]) Put(key string, v V, ttl time.Duration) {
	raw, err := clock.Relative(v, m.fleet.Clock.Now())
	if err == nil && len(key) <= maxKey && len(raw) <= maxValue && ttl > 0 {
		m.set(&entry[V]{put: put{Key: key, Value: raw}, value: v}, min(ttl, m.MaxTTL))
	}
}

// Delete removes a key: this replica's entry or, where keys are common, anyone's.
func (m *Map[V]) Delete(key string) {
	if _, known := m.Get(key); known {
		m.set(&entry[V]{put: put{Key: key}}, deletion)
	}
}

// set is Put or Delete. Each put of a key is sent, so that no change is missed which two of them make together.
func (m *Map[V]) set(e *entry[V], ttl time.Duration) {
	m.mu.Lock()
	if before := m.find(e.Key, m.fleet.ID); before != nil && before.unsent {
		m.mu.Unlock()
		m.fleet.flush()
		m.mu.Lock()
	}
	m.version++
	e.Version, e.owner, e.at = m.version, m.owner(m.fleet.ID), m.fleet.Clock.Now()
	e.until = e.at.Add(ttl)
	m.insert(e)
	e.unsent, m.pending = true, append(m.pending, e)
	m.mu.Unlock()
	m.fleet.flushSoon()
}

// Get returns the value of a key; where keys are not common, this replica's own.
func (m *Map[V]) Get(key string) (e Entry[V], known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.find(key, m.fleet.ID); found != nil && found.lives(m.fleet.Clock.Now()) {
		return found.shown(), true
	}
	return e, false
}

// Others yields the entries of a key that other replicas have put, in the order of these. The loop must not call the map.
func (m *Map[V]) Others(key string) iter.Seq[Entry[V]] {
	return func(yield func(Entry[V]) bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		now := m.fleet.Clock.Now()
		for _, e := range m.entries[key] {
			if e.owner.id != m.fleet.ID && e.lives(now) && !yield(e.shown()) {
				return
			}
		}
	}
}

// All returns all entries.
func (m *Map[V]) All() (all []Entry[V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.fleet.Clock.Now()
	for _, of := range m.entries {
		for _, e := range of {
			if e.lives(now) {
				all = append(all, e.shown())
			}
		}
	}
	return all
}

// Knows reports whether another replica has put a key with a prefix, as long as all prefixes are, or with "" any key.
func (m *Map[V]) Knows(prefix string) bool {
	if prefix == "" || m.foreign.Load() == 0 {
		return m.foreign.Load() > 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.others[prefix] > 0
}

func (e *entry[V]) lives(now time.Time) bool { return e.Value != nil && e.until.After(now) }

func (e *entry[V]) shown() Entry[V] {
	return Entry[V]{e.Key, e.owner.id, e.value, e.at, e.Value == nil}
}

// owner returns a replica. mu is held.
func (m *Map[V]) owner(id string) *owner {
	if m.owners[id] == nil {
		m.owners[id] = &owner{id: id}
		if m.Outlives {
			m.owners[id].known = -1 // it is asked also for what has outlived others
		}
	}
	return m.owners[id]
}

// find returns what is known of a key. mu is held.
func (m *Map[V]) find(key, owner string) *entry[V] {
	of := m.entries[key]
	if i := m.search(of, owner); i < len(of) && (m.Common || of[i].owner.id == owner) {
		return of[i]
	}
	return nil
}

// search returns where the entry of an owner is among those of a key.
func (m *Map[V]) search(of []*entry[V], owner string) int {
	if m.Common {
		return 0
	}
	i, _ := slices.BinarySearchFunc(of, owner, func(e *entry[V], id string) int { return strings.Compare(e.owner.id, id) })
	return i
}

// insert adds an entry in place of the one before, and keeps the bounds. mu is held.
func (m *Map[V]) insert(e *entry[V]) {
	if before := m.find(e.Key, e.owner.id); before != nil {
		m.remove(before)
	}
	of := m.entries[e.Key]
	m.entries[e.Key] = slices.Insert(of, m.search(of, e.owner.id), e)
	e.place = e.owner.entries.PushBack(e)
	m.count(e, 1)
	most := e.owner
	if m.n > m.OfAll {
		for _, o := range m.owners {
			if cmp.Or(cmp.Compare(o.entries.Len(), most.entries.Len()), cmp.Compare(o.id, most.id)) > 0 {
				most = o
			}
		}
	}
	if m.n > m.OfAll || most.entries.Len() > m.OfOne {
		m.remove(most.entries.Front().Value.(*entry[V]))
	}
}

// remove drops an entry. mu is held.
func (m *Map[V]) remove(e *entry[V]) {
	e.owner.entries.Remove(e.place)
	m.count(e, -1)
	of := m.entries[e.Key]
	i := slices.Index(of, e)
	if m.entries[e.Key] = slices.Delete(of, i, i+1); len(of) == 1 {
		delete(m.entries, e.Key)
	}
}

// count counts an entry in, or out. mu is held.
func (m *Map[V]) count(e *entry[V], by int) {
	m.n += by
	if e.Value == nil || e.owner.id == m.fleet.ID {
		return
	}
	m.foreign.Add(int64(by))
	prefix := e.Key[:min(m.Prefix, len(e.Key))]
	if m.others[prefix] += by; m.others[prefix] == 0 {
		delete(m.others, prefix)
	}
}

// supersedes reports whether an entry holds in place of another one; nil: none is known. mu is held.
func (m *Map[V]) supersedes(e, before *entry[V]) bool {
	return before == nil || cmp.Or(cmp.Compare(e.Version, before.Version), bytes.Compare(e.Value, before.Value)) > 0
}
