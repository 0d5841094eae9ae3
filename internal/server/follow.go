package server

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// lookTime is how often a list is looked at while somebody follows it: what
// fails shows within that time.
const lookTime = 250 * time.Millisecond

// item is one of a list, known by its key.
type item[K comparable] interface{ key() K }

// follower shows a list to those who follow its changes. However many they
// are, the list is made once in a lookTime.
type follower[K comparable, T item[K]] struct {
	one, all string // names of the events: "wait", "waits"
	load     func() []T
	same     func(a, b T) bool

	mu      sync.Mutex
	at      time.Time
	list    []T
	version int // counts the changes
}

// look gives the list of the last lookTime, and its version.
func (f *follower[K, T]) look() ([]T, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.version > 0 && now.Sub(f.at) < lookTime {
		return f.list, f.version
	}
	list := f.load()
	if f.version == 0 || !f.equal(list) {
		f.version++
	}
	f.at, f.list = now, list
	return list, f.version
}

// equal tells whether a list is the last one but for the time.
func (f *follower[K, T]) equal(list []T) bool {
	if len(list) != len(f.list) {
		return false
	}
	for i := range list {
		if !f.same(list[i], f.list[i]) {
			return false
		}
	}
	return true
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
	seen, version := f.look()
	out.event("", "snapshot", encode(map[string][]T{f.all: seen}))
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	for out.flush() == nil && await(out, ticker.C) {
		next, now := f.look()
		if now != version {
			f.changes(out, seen, next)
		}
		seen, version = next, now
	}
}

// changes writes what differs between two lists: new and changed items, and
// the keys of those that are gone.
func (f *follower[K, T]) changes(out *stream, from, to []T) {
	before := make(map[K]T, len(from))
	for _, v := range from {
		before[v.key()] = v
	}
	for _, v := range to {
		k := v.key()
		old, known := before[k]
		delete(before, k)
		if !known || !f.same(old, v) {
			out.event("", f.one, encode(v))
		}
	}
	for _, v := range from {
		if _, gone := before[v.key()]; gone {
			out.event("", "gone", encode(map[string]K{f.one: v.key()}))
		}
	}
}

func (s *Server) serveWaits(w http.ResponseWriter, r *http.Request)     { s.waits.serve(s, w, r) }
func (s *Server) serveUpstreams(w http.ResponseWriter, r *http.Request) { s.upstreams.serve(s, w, r) }
