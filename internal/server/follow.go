package server

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// lookTime is how often a list is looked at while somebody follows it: what
// fails shows within that time.
const lookTime = 250 * time.Millisecond

// A list that is long takes long to look at. What somebody watches must not
// cost what is watched, so after a look there is a rest of so many times what
// it took, within a bound.
const (
	restTimes = 200
	restBound = 2 * time.Second
)

// goneBound is how many of those that have left a list are remembered. A reader
// who has missed more gets the list anew.
const goneBound = 4096

// item is one of a list, known by its key.
type item[K comparable] interface{ key() K }

// follower shows a list to those who follow its changes. However many they
// are, the list is made once in a lookTime, and what has changed is written
// once.
type follower[K comparable, T item[K]] struct {
	one, all string // names of the events: "wait", "waits"
	load     func() []T
	same     func(a, b T) bool
	fate     func(K) (end, bool) // of one that is gone; nil: nobody knows

	mu      sync.Mutex
	readers int
	due     time.Time // the next look
	list    []T
	late    map[K]bool    // those of the list that have left it, to be told of with the next look
	version int           // counts the looks that have found something new
	lines   map[K]line    // those of the list
	gone    []departed[K] // the latest that have left it
	missing int           // the version of the last one that is not among them any more
}

// line is an item as it is told of, and since which version; before anything
// has changed about it, it has no text.
type line struct {
	version int
	text    []byte
}

// departed is an item that has left, and with which version.
type departed[K comparable] struct {
	key     K
	version int
}

// followed is a list that a stream shows.
type followed interface {
	name() string
	begin(to *bytes.Buffer, event string) (version int)
	more(to *bytes.Buffer, event string, seen int) (version int)
	leave()
}

// name gives the name of the list.
func (f *follower[K, T]) name() string { return f.all }

// latest gives the list as somebody has just seen it, or a new one.
func (f *follower[K, T]) latest() []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers > 0 && time.Now().Before(f.due) {
		return f.list
	}
	return f.load()
}

// begin writes the list for a new reader, who leaves some time.
func (f *follower[K, T]) begin(to *bytes.Buffer, event string) (version int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
	f.look(time.Now()) // whatever the time: the reader counts down from here
	f.snapshot(to, event)
	return f.version
}

// more writes what has changed since a version: new and changed items, and the
// keys of those that are gone.
func (f *follower[K, T]) more(to *bytes.Buffer, event string, seen int) (version int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); !now.Before(f.due) {
		f.look(now)
	}
	switch {
	case seen == f.version:
	case seen < f.missing:
		f.snapshot(to, event)
	default:
		f.changes(to, seen)
	}
	return f.version
}

// leave lets a reader go. What nobody follows is not remembered.
func (f *follower[K, T]) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers--; f.readers == 0 {
		f.list, f.late, f.lines, f.gone = nil, nil, nil, nil
		f.missing = f.version
	}
}

func (f *follower[K, T]) snapshot(to *bytes.Buffer, event string) {
	frame(to, "", event, encode(map[string][]T{f.all: f.list}))
}

func (f *follower[K, T]) changes(to *bytes.Buffer, seen int) {
	for _, v := range f.list {
		if l := f.lines[v.key()]; l.version > seen {
			to.Write(l.text)
		}
	}
	for _, d := range f.gone {
		if _, back := f.lines[d.key]; d.version > seen && !back {
			frame(to, "", "gone", encode(f.farewell(d.key)))
		}
	}
}

// farewell gives what is said of an item that is gone: which one it was, and
// how it ended where that is known.
func (f *follower[K, T]) farewell(key K) map[string]any {
	said := map[string]any{f.one: key}
	if f.fate == nil {
		return said
	}
	if e, known := f.fate(key); known {
		said["how"], said["retries"], said["waitedMs"] = e.How, e.Retries, e.Waited
	}
	return said
}

// look makes the list and notes what has changed.
func (f *follower[K, T]) look(now time.Time) {
	before := f.list
	f.list = f.load()
	if f.changed(before) {
		f.linger(before)
		f.compare(before)
	}
	f.due = now.Add(max(lookTime, min(restBound, restTimes*time.Since(now))))
}

// linger keeps those in the list for one look more that have just left it and of
// which nobody knows yet how they ended: what tells of that comes a moment after.
func (f *follower[K, T]) linger(before []T) {
	if f.fate == nil {
		return
	}
	here := make(map[K]bool, len(f.list))
	for _, v := range f.list {
		here[v.key()] = true
	}
	late := make(map[K]bool)
	for _, v := range before {
		k := v.key()
		if here[k] || f.late[k] {
			continue
		}
		if _, known := f.fate(k); !known {
			late[k] = true
			f.list = append(slices.Clip(f.list), v)
		}
	}
	f.late = late
}

// changed tells whether the list is not the one before but for the time.
func (f *follower[K, T]) changed(before []T) bool {
	if f.lines == nil || len(before) != len(f.list) {
		return true
	}
	for i := range before {
		if !f.same(before[i], f.list[i]) {
			return true
		}
	}
	return false
}

// compare writes the lines of what has changed.
func (f *follower[K, T]) compare(before []T) {
	f.version++
	old := make(map[K]T, len(before))
	for _, v := range before {
		old[v.key()] = v
	}
	lines := make(map[K]line, len(f.list))
	for _, v := range f.list {
		k := v.key()
		last, known := old[k]
		delete(old, k)
		if known && f.same(last, v) {
			lines[k] = f.lines[k]
			continue
		}
		var b bytes.Buffer
		frame(&b, "", f.one, encode(v))
		lines[k] = line{f.version, b.Bytes()}
	}
	for _, v := range before {
		if _, gone := old[v.key()]; gone {
			f.gone = append(f.gone, departed[K]{v.key(), f.version})
		}
	}
	if over := len(f.gone) - goneBound; over > 0 {
		f.missing = f.gone[over-1].version
		f.gone = append(f.gone[:0], f.gone[over:]...)
	}
	f.lines = lines
}

// serve answers with the list; to those who ask for a stream with the list and
// then its changes.
func (f *follower[K, T]) serve(s *Server, w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), eventStream) {
		answer(w, http.StatusOK, map[string][]T{f.all: f.load()})
		return
	}
	out := s.open(w, r)
	if out == nil {
		return
	}
	defer out.close()
	version := f.begin(&out.buf, "snapshot")
	defer f.leave()
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	for out.flush() == nil && await(out, ticker.C) {
		version = f.more(&out.buf, "snapshot", version)
	}
}

func (s *Server) serveWaits(w http.ResponseWriter, r *http.Request)     { s.waits.serve(s, w, r) }
func (s *Server) serveUpstreams(w http.ResponseWriter, r *http.Request) { s.upstreams.serve(s, w, r) }
