package server

import (
	"net/http"
	"sort"
	"time"

	"github.com/ridethrough/ridethrough/wire"
)

// entry is one event as it is sent.
type entry struct {
	seq  int64
	text []byte
}

// ring keeps the latest events.
type ring struct {
	bound int
	all   []entry // once it is full, the oldest is at next
	next  int
	lost  int64 // the number of the latest that was pushed out
}

func (r *ring) add(e entry) {
	if len(r.all) < r.bound {
		r.all = append(r.all, e)
		return
	}
	r.lost = r.all[r.next].seq
	r.all[r.next] = e
	r.next = (r.next + 1) % r.bound
}

// since gives a copy of what came after a number.
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

// serveEvents sends what happens, from behind the event that the reader names.
// A reader that falls behind what is kept is told so and sent away: when it
// comes back, it learns that there is a gap.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	feed := s.config.Feed
	after, reset := feed.resume(r.Header.Get("Last-Event-ID"))
	out := s.open(w, r)
	if out == nil {
		return
	}
	defer out.close()
	if reset != "" {
		out.buf.Write(feed.encode("", wire.Event{Seq: after, Time: time.Now(), Body: wire.Reset{Reason: reset}}))
	}
	for {
		entries, missed, news := feed.since(after)
		if missed {
			out.comment("dropped: this reader is too slow; it can come back with its Last-Event-ID")
			_ = out.flush()
			return
		}
		for _, e := range entries {
			out.buf.Write(e.text)
			after = e.seq
		}
		if out.flush() != nil || !await(out, news) {
			return
		}
	}
}
