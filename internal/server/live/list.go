package live

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

const refreshTime = 250 * time.Millisecond

// A long list takes long to load. Showing it must not slow down what it shows: after a refresh there is a pause of
// pauseFactor times its duration, at most pauseBound.
const (
	pauseFactor = 200
	pauseBound  = 2 * time.Second
)

// changesBound is how many changes of a list are kept. A reader that missed more gets the whole list.
const changesBound = 8

type item interface {
	key() key
	same(item) bool // nothing has changed but the time; for an item with this key
}

// key identifies an item of a list, by a text that is not empty or by a number. It is not a type parameter, because
// a whole list would be compiled for each type.
type key struct {
	number int64
	text   string
}

func (k key) MarshalJSON() ([]byte, error) {
	if k.text != "" {
		return rest.JSON(k.text), nil
	}
	return rest.JSON(k.number), nil
}

// String returns the text, or the number in digits.
func (k key) String() string { return cmp.Or(k.text, strconv.FormatInt(k.number, 10)) }

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

// list shows a list to the readers that follow it. However many they are, it loads the list once in a refreshTime,
// and encodes each change once.
type list struct {
	one, all string // the names of its events: "wait", "waits"
	load     func() []item
	end      func(key) (End, bool) // how the wait of a removed item ended; nil: items are no waits

	mu      sync.Mutex
	readers int
	due     time.Time // of the next refresh
	items   []item
	lingers map[key]bool // items that were removed before their end was known: they stay for one refresh
	version int          // counts the refreshes that found a change
	changes [][]byte     // the events of the latest, of which the last one led to the version
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

// begin writes the list for a new reader, which must call leave.
func (l *list) begin(to *bytes.Buffer, event string) (version int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers++
	l.refresh(time.Now()) // even if it is not due: the reader counts down from now
	l.snapshot(to, event)
	return l.version
}

// changesSince writes the changes since a version: items that are new or changed, and the keys of removed ones. It
// returns the reader's new version.
func (l *list) changesSince(version int, to *bytes.Buffer, event string) (newVersion int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); !now.Before(l.due) {
		l.refresh(now)
	}
	if missed := l.version - version; missed > len(l.changes) {
		l.snapshot(to, event)
	} else {
		for _, change := range l.changes[len(l.changes)-missed:] {
			to.Write(change)
		}
	}
	return l.version
}

// leave removes a reader. A list without readers keeps nothing.
func (l *list) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers--; l.readers == 0 {
		l.items, l.lingers, l.changes = nil, nil, nil
	}
}

func (l *list) snapshot(to *bytes.Buffer, event string) {
	rest.Frame(to, "", event, rest.JSON(map[string][]item{l.all: l.items}))
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

func (l *list) refresh(now time.Time) {
	before := l.items
	l.items = l.load()
	if !slices.EqualFunc(l.items, before, func(a, b item) bool { return a.key() == b.key() && a.same(b) }) {
		l.linger(before)
		l.note(before)
	}
	l.due = now.Add(max(refreshTime, min(pauseBound, pauseFactor*time.Since(now))))
}

// linger keeps removed items of unknown end for one more refresh: the end is reported a moment later.
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

// note encodes the changes since the items before: items that are new or changed, and the keys of removed ones.
func (l *list) note(before []item) {
	old := make(map[key]item, len(before))
	for _, v := range before {
		old[v.key()] = v
	}
	var b bytes.Buffer
	for _, v := range l.items {
		last, known := old[v.key()]
		if delete(old, v.key()); !known || !v.same(last) {
			rest.Frame(&b, "", l.one, rest.JSON(v))
		}
	}
	for _, v := range before {
		if _, gone := old[v.key()]; gone {
			rest.Frame(&b, "", "gone", rest.JSON(l.gone(v.key())))
		}
	}
	l.version++
	l.changes = append(l.changes[max(0, len(l.changes)+1-changesBound):], b.Bytes())
}

// serve returns the handler of the list: it answers with the list, or streams it and its changes.
func (l *list) serve(readers *rest.Readers) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), rest.SSE) {
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
		for out.Flush() == nil && rest.Await(out, ticker.C) {
			version = l.changesSince(version, &out.Buffer, "snapshot")
		}
	}
}
