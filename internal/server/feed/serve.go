package feed

import (
	"net/http"
	"sort"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/stream"
	"github.com/ridethrough/ridethrough/wire"
)

// entry is one event as it is sent.
type entry struct {
	seq  int64
	text []byte
}

// ring keeps the latest events.
type ring struct {
	bound   int
	all     []entry // once it is full, the oldest is at next
	next    int
	evicted int64 // the number of the latest event that is not kept any more
}

func (r *ring) add(e entry) {
	if len(r.all) < r.bound {
		r.all = append(r.all, e)
		return
	}
	r.evicted = r.all[r.next].seq
	r.all[r.next] = e
	r.next = (r.next + 1) % r.bound
}

// since returns a copy of the entries after a number.
func (r *ring) since(seq int64) []entry {
	n := len(r.all)
	at := func(i int) entry { return r.all[(r.next+i)%n] }
	first := sort.Search(n, func(i int) bool { return at(i).seq > seq })
	var found []entry
	for i := first; i < n; i++ {
		found = append(found, at(i))
	}
	return found
}

// Serve returns the handler that sends events as they happen, continuing after the event that the reader
// names. A reader that falls behind what is kept is disconnected: when it reconnects, it learns that there is
// a gap.
func (f *Feed) Serve(readers *stream.Readers) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		after, reset := f.resume(r.Header.Get("Last-Event-ID"))
		out := readers.Open(w, r)
		if out == nil {
			return
		}
		defer out.Close()
		if reset != "" {
			out.Buffer.Write(f.encode("", wire.Event{Seq: after, Time: time.Now(), Body: wire.Reset{Reason: reset}}))
		}
		f.follow(out, after)
	}
}

// follow sends the events after a number until the reader leaves or is too slow.
func (f *Feed) follow(out *stream.Stream, after int64) {
	for {
		entries, missed, news := f.since(after)
		if missed {
			out.Comment("dropped: this reader is too slow; it can come back with its Last-Event-ID")
			_ = out.Flush()
			return
		}
		for _, e := range entries {
			out.Buffer.Write(e.text)
			after = e.seq
		}
		if out.Flush() != nil || !stream.Await(out, news) {
			return
		}
	}
}
