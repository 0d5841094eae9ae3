package fleet

import (
	"maps"
	"slices"
	"time"
)

// The rules of messages with entries.
const (
	collecting = 20 * time.Millisecond // puts within it go out together, the first one at once
	mostPuts   = 128 << 10             // bytes of entries in a message
	putSize    = 100                   // bytes of an entry beside its key and value, at most
	fewPuts    = 3                     // of a map, which go with a sign of life
)

// allMaps returns the maps, in an order.
func (f *Fleet) allMaps() (all []replicated) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(f.maps)) {
		all = append(all, f.maps[kind])
	}
	return all
}

// flushSoon sends what was put: at once, or with what else is put until it may be.
func (f *Fleet) flushSoon() {
	f.mu.Lock()
	in := f.flushed.Add(collecting).Sub(f.Clock.Now())
	waits := f.closed || f.flusher != nil
	if !waits && in > 0 {
		waits, f.flusher = true, f.Clock.AfterFunc(in, f.flush)
	}
	f.mu.Unlock()
	if !waits {
		f.flush()
	}
}

// flush sends what was put. Without a connection that is lost, and asked for when there is one again.
func (f *Fleet) flush() {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.mu.Lock()
	f.flusher, f.flushed = nil, f.Clock.Now()
	f.mu.Unlock()
	for _, m := range f.allMaps() {
		_, _, all := m.unsent()
		f.sendBatches("all", all)
	}
}

func (f *Fleet) sendBatches(to string, all []batch) {
	for _, b := range all {
		_ = f.send(to, putting, []batch{b})
	}
}

// sendAlive sends a sign of life, with what was put of each map if that is little.
func (f *Fleet) sendAlive() {
	f.sending.Lock()
	defer f.sending.Unlock()
	s := signOfLife{Heads: map[string]int64{}}
	for _, m := range f.allMaps() {
		kind, sent, all := m.unsent()
		if len(all) == 1 && len(all[0].Puts) <= fewPuts {
			s.Puts = append(s.Puts, all...)
		} else {
			f.sendBatches("all", all)
		}
		if sent >= 0 {
			s.Heads[kind] = sent
		}
	}
	_ = f.Send(alive, s)
}

// heardAlive asks a replica for all that lives, where some of its puts have not come.
func (f *Fleet) heardAlive(from string, s signOfLife) {
	f.heardPuts(from, s.Puts)
	var missed []string
	for _, kind := range slices.Sorted(maps.Keys(s.Heads)) {
		if m := f.mapOf(kind, from); m != nil && m.misses(from, s.Heads[kind]) {
			missed = append(missed, kind)
		}
	}
	if missed != nil {
		_ = f.SendTo(from, missing, missed)
	}
}

// heardPuts takes in entries.
func (f *Fleet) heardPuts(from string, all []batch) {
	for _, b := range all {
		if m := f.mapOf(b.Map, from); m != nil {
			m.take(from, b)
		}
	}
}

// heardMissing sends a replica all that lives.
func (f *Fleet) heardMissing(from string, kinds []string) {
	f.sending.Lock()
	defer f.sending.Unlock()
	for _, kind := range kinds {
		if m := f.mapOf(kind, from); m != nil {
			f.sendBatches("to."+from, m.whole(from))
		}
	}
}

// mapOf returns the map of a kind, for what a replica says of it; nil: none, or the replica does not live.
func (f *Fleet) mapOf(kind, from string) replicated {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, lives := f.members[from]; !lives {
		return nil
	}
	return f.maps[kind]
}
