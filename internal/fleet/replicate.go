package fleet

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// put is an entry in a message.
type put struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value,omitempty"` // none: it was deleted
	Version int64           `json:"version"`
	Owner   string          `json:"owner,omitempty"` // that has gone; "": the sender
	Age     time.Duration   `json:"age,omitempty"`
	TTL     time.Duration   `json:"ttl"` // what is left of it
}

// batch has entries of a map: what its sender has put, or all that lives.
type batch struct {
	Map   string `json:"map"`
	After int64  `json:"after"` // so many puts of its sender; below 0: all that lives was asked for
	To    int64  `json:"to"`    // with these, so many
	Puts  []put  `json:"puts"`
}

// parts divides a batch into those of a message each.
func (b batch) parts() (all []batch) {
	for {
		n, size := 0, 0
		for n < len(b.Puts) && size < mostPuts {
			size += len(b.Puts[n].Key) + len(b.Puts[n].Value) + putSize
			n++
		}
		part := b
		if part.Puts, b.Puts = b.Puts[:n], b.Puts[n:]; len(b.Puts) == 0 {
			return append(all, part)
		}
		if part.To = b.After; b.After >= 0 {
			b.After += int64(n)
			part.To = b.After
		}
		all = append(all, part)
	}
}

// replicated is a Map.
type replicated interface {
	unsent() (kind string, sent int64, parts []batch) // which are sent now, and how many puts there are with them; below 0: nothing is known here
	whole(asker string) []batch                       // nil: the asker was sent it a moment ago
	misses(from string, sent int64) bool              // reports whether not all puts of a replica are known
	take(from string, b batch)
	review() // drops what has expired, or goes with its owner
}

func (m *Map[V]) misses(from string, sent int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owner(from).known != sent
}

func (m *Map[V]) unsent() (kind string, sent int64, parts []batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) > 0 {
		b := batch{Map: m.kind, After: m.sent, To: m.sent + int64(len(m.pending))}
		for _, e := range m.pending {
			e.unsent = false
			b.Puts = append(b.Puts, e.sent("", m.fleet.Clock.Now()))
		}
		m.pending, m.sent, parts = nil, b.To, b.parts()
	}
	if sent = m.sent; sent == 0 && (m.n == 0 || !m.Outlives) {
		sent = -1
	}
	return m.kind, sent, parts
}

// sent returns the entry as it is sent.
func (e *entry[V]) sent(owner string, now time.Time) put {
	p := e.put
	p.Owner, p.Age, p.TTL = owner, now.Sub(e.at), e.until.Sub(now)
	return p
}

// whole has this replica's own entries and, of the first one that can give them, those that have outlived their owner.
func (m *Map[V]) whole(asker string) []batch {
	s := m.fleet.Status()
	givers := slices.DeleteFunc(s.Members, func(id string) bool { return id == asker })
	m.mu.Lock()
	defer m.mu.Unlock()
	now, to := m.fleet.Clock.Now(), m.owner(asker)
	if now.Before(to.asks) {
		return nil
	}
	b := batch{Map: m.kind, After: -1, To: m.sent}
	for _, id := range slices.Sorted(maps.Keys(m.owners)) {
		of := id
		switch {
		case id == s.ID:
			of = ""
		case !m.Outlives || givers[0] != s.ID || id == asker || slices.Contains(givers, id):
			continue
		}
		for at := m.owners[id].entries.Front(); at != nil; at = at.Next() {
			if e := at.Value.(*entry[V]); e.until.After(now) {
				b.Puts = append(b.Puts, e.sent(of, now))
			}
		}
	}
	all := b.parts()
	to.asks = now.Add(answerGap * time.Duration(len(all)))
	return all
}

// take takes in what another replica has sent.
func (m *Map[V]) take(from string, b batch) {
	m.delivery.Lock()
	defer m.delivery.Unlock()
	var changes []Entry[V]
	m.mu.Lock()
	for _, p := range b.Puts {
		if e := m.read(p, from); e != nil && m.supersedes(e, m.find(e.Key, e.owner.id)) {
			m.insert(e)
			m.version = max(m.version, e.Version)
			changes = append(changes, e.shown())
		}
	}
	if o := m.owner(from); b.After < 0 || b.After == o.known {
		o.known = b.To
	}
	m.mu.Unlock()
	m.report(changes)
}

// read returns the entry of a message, within bounds; nil: it is not one. mu is held.
func (m *Map[V]) read(p put, from string) *entry[V] {
	if p.Owner != "" && (!m.Outlives || len(p.Owner) > maxIDLength || p.Owner == m.fleet.ID || m.fleet.Lives(p.Owner)) {
		return nil
	}
	e := &entry[V]{put: p}
	if len(p.Key) > maxKey || len(p.Value) > maxValue || p.TTL <= 0 || p.Version <= 0 || p.Version-m.version > maxVersion {
		return nil
	}
	now := m.fleet.Clock.Now()
	e.at, e.until = now.Add(-min(max(p.Age, 0), m.MaxTTL)), now.Add(min(p.TTL, m.MaxTTL))
	if p.Value != nil {
		var err error
		if e.value, err = clock.Absolute[V](p.Value, e.at); err != nil {
			return nil
		}
	}
	e.owner = m.owner(cmp.Or(p.Owner, from))
	return e
}

// review drops what has expired or goes with its owner.
func (m *Map[V]) review() {
	members := m.fleet.Status().Members
	m.delivery.Lock()
	defer m.delivery.Unlock()
	var changes []Entry[V]
	m.mu.Lock()
	now := m.fleet.Clock.Now()
	for _, id := range slices.Sorted(maps.Keys(m.owners)) {
		o := m.owners[id]
		goes := !slices.Contains(members, id) && !m.Outlives
		for at := o.entries.Front(); at != nil; {
			e := at.Value.(*entry[V])
			if at = at.Next(); goes || !e.until.After(now) {
				if m.remove(e); e.Value != nil && id != m.fleet.ID {
					changes = append(changes, Entry[V]{Key: e.Key, Owner: id, At: e.at, Gone: true})
				}
			}
		}
		if o.entries.Len() == 0 && !slices.Contains(members, id) {
			delete(m.owners, id)
		}
	}
	m.mu.Unlock()
	m.report(changes)
}

func (m *Map[V]) report(changes []Entry[V]) {
	for _, e := range changes {
		if m.Changed != nil {
			m.Changed(e)
		}
	}
}
