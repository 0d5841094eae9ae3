package live

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/feed"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/stream"
)

// refreshTime is the time between two refreshes of a list that has readers.
const refreshTime = 250 * time.Millisecond

// A long list takes long to load. Showing it must not slow down what it shows: after a refresh there is a
// pause of pauseFactor times its duration, at most pauseBound.
const (
	pauseFactor = 200
	pauseBound  = 2 * time.Second
)

// removalsBound is how many removals are kept. A reader that missed more gets the whole list.
const removalsBound = 4096

// item is an item of a list.
type item interface {
	key() key
	same(item) bool // nothing has changed but the time
}

// key identifies an item of a list, by a text that is not empty or by a number. It is not a type parameter, because all of a
// list would be compiled for each type.
type key struct {
	number int64
	text   string
}

// MarshalJSON encodes the number or the text.
func (k key) MarshalJSON() ([]byte, error) {
	if k.text != "" {
		return rest.JSON(k.text), nil
	}
	return rest.JSON(k.number), nil
}

// itemsOf returns values as items.
func itemsOf[T any, P interface {
	*T
	item
}](all []T) []item {
	items := make([]item, len(all))
	for i := range all {
		items[i] = P(&all[i])
	}
	return items
}

// list shows a list to the readers that follow it. However many they are, the list is loaded once in a
// refreshTime, and each change is encoded once.
type list struct {
	one, all string // the names of its events: "wait", "waits"
	load     func() []item
	end      func(key) (feed.End, bool) // how the wait of a removed item ended; nil: items are no waits

	mu       sync.Mutex
	readers  int
	due      time.Time // of the next refresh
	items    []item
	lingers  map[key]bool // items that were removed before their end was known: they stay for one refresh
	version  int          // counts the refreshes that found a change
	lines    map[key]line // the events of the items
	removals []removal    // the latest
	missing  int          // the version of the last removal that is not kept any more
}

// line is the event of an item, and the version it is from. An item that has not changed has no text.
type line struct {
	version int
	text    []byte
}

// removal is an item that was removed, and the version it was removed in.
type removal struct {
	key     key
	version int
}

// latest returns the list as its readers see it, or loads it.
func (l *list) latest() []item {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers > 0 && time.Now().Before(l.due) {
		return l.items
	}
	return l.load()
}

// begin writes the list for a new reader, which has to call leave.
func (l *list) begin(to *bytes.Buffer, event string) (version int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers++
	l.refresh(time.Now()) // even if it is not due: the reader counts down from now
	l.snapshot(to, event)
	return l.version
}

// changesSince writes what has changed since a version: items that are new or changed, and the keys of those
// that were removed. It returns the version that the reader has now.
func (l *list) changesSince(version int, to *bytes.Buffer, event string) (newVersion int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); !now.Before(l.due) {
		l.refresh(now)
	}
	switch {
	case version == l.version:
	case version < l.missing:
		l.snapshot(to, event)
	default:
		l.changes(to, version)
	}
	return l.version
}

// leave removes a reader. A list without readers keeps nothing.
func (l *list) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers--; l.readers == 0 {
		l.items, l.lingers, l.lines, l.removals = nil, nil, nil, nil
		l.missing = l.version
	}
}

func (l *list) snapshot(to *bytes.Buffer, event string) {
	stream.Frame(to, "", event, rest.JSON(map[string][]item{l.all: l.items}))
}

func (l *list) changes(to *bytes.Buffer, since int) {
	for _, v := range l.items {
		if line := l.lines[v.key()]; line.version > since {
			to.Write(line.text)
		}
	}
	for _, r := range l.removals {
		if _, back := l.lines[r.key]; r.version > since && !back {
			stream.Frame(to, "", "gone", rest.JSON(l.gone(r.key)))
		}
	}
}

// gone returns the event of a removal: the key, and how the wait ended if that is known.
func (l *list) gone(k key) map[string]any {
	members := map[string]any{l.one: k}
	if l.end == nil {
		return members
	}
	if e, known := l.end(k); known {
		members["how"], members["retries"], members["waitedMs"] = e.How, e.Retries, e.Waited.Milliseconds()
	}
	return members
}

// refresh loads the list and notes the changes.
func (l *list) refresh(now time.Time) {
	before := l.items
	l.items = l.load()
	if l.changed(before) {
		l.linger(before)
		l.diff(before)
	}
	l.due = now.Add(max(refreshTime, min(pauseBound, pauseFactor*time.Since(now))))
}

// linger keeps removed items for one more refresh whose end is not known yet: it is reported a moment later.
func (l *list) linger(before []item) {
	if l.end == nil {
		return
	}
	present := make(map[key]bool, len(l.items))
	for _, v := range l.items {
		present[v.key()] = true
	}
	lingers := make(map[key]bool)
	for _, v := range before {
		k := v.key()
		if present[k] || l.lingers[k] {
			continue
		}
		if _, known := l.end(k); !known {
			lingers[k] = true
			l.items = append(slices.Clip(l.items), v)
		}
	}
	l.lingers = lingers
}

// changed reports whether more than the time differs from the items before.
func (l *list) changed(before []item) bool {
	if l.lines == nil || len(before) != len(l.items) {
		return true
	}
	for i := range before {
		if !l.items[i].same(before[i]) {
			return true
		}
	}
	return false
}

// diff encodes the changes since the items before.
func (l *list) diff(before []item) {
	l.version++
	old := make(map[key]item, len(before))
	for _, v := range before {
		old[v.key()] = v
	}
	lines := make(map[key]line, len(l.items))
	for _, v := range l.items {
		k := v.key()
		last, known := old[k]
		delete(old, k)
		if known && v.same(last) {
			lines[k] = l.lines[k]
			continue
		}
		var b bytes.Buffer
		stream.Frame(&b, "", l.one, rest.JSON(v))
		lines[k] = line{l.version, b.Bytes()}
	}
	for _, v := range before {
		if _, gone := old[v.key()]; gone {
			l.removals = append(l.removals, removal{v.key(), l.version})
		}
	}
	if over := len(l.removals) - removalsBound; over > 0 {
		l.missing = l.removals[over-1].version
		l.removals = append(l.removals[:0], l.removals[over:]...)
	}
	l.lines = lines
}

// serve returns the handler of the list: it answers with the list, or streams it and its changes.
func (l *list) serve(readers *stream.Readers) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), stream.SSE) {
			rest.Answer(w, http.StatusOK, map[string][]item{l.all: l.load()})
			return
		}
		out := readers.Open(w, r)
		if out == nil {
			return
		}
		defer out.Close()
		version := l.begin(&out.Buffer, "snapshot")
		defer l.leave()
		ticker := time.NewTicker(refreshTime)
		defer ticker.Stop()
		for out.Flush() == nil && stream.Await(out, ticker.C) {
			version = l.changesSince(version, &out.Buffer, "snapshot")
		}
	}
}
