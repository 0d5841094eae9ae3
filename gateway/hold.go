package gateway

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/retry"
)

// The clock of a hold. Most clients give up after 60 to 300 s without a byte,
// and some count only events; see docs/holding.md for who does what.
const (
	commitAfter = 10 * time.Second // after the request came in, once a fault has happened
	pingEvery   = 10 * time.Second
	beatEvery   = 5                // a heartbeat in place of each fifth ping, so that two are never more than 60 s apart
	writeLimit  = 10 * time.Second // for a ping: a client that takes none for so long is gone
)

// hold keeps the connection of a client alive that waits for a stream. It
// sends nothing before a fault has happened, so that a slow first try keeps its
// true status. It commits, with status 200 and the first ping, when the next
// try fails too or 10 s after the request came in; from then on it writes
// whole frames until it is stopped.
//
// It has no goroutine of its own while it waits. The nil hold does nothing.
type hold struct {
	dialect *dialect.Dialect
	form    dialect.Form
	client  dialect.Client
	arrived time.Time

	mu        sync.Mutex // also keeps frames from mixing
	w         http.ResponseWriter
	timer     *time.Timer // nil: no fault yet
	latest    retry.Note
	due       time.Time // the next try
	pings     int
	committed bool
	stopped   bool
}

func newHold(w http.ResponseWriter, d *dialect.Dialect, f dialect.Form, c dialect.Client, arrived time.Time) *hold {
	return &hold{dialect: d, form: f, client: c, arrived: arrived, w: w}
}

// note is told of each failed try.
func (h *hold) note(n retry.Note) {
	if h == nil || n.Fault == nil || n.Verdict.Stop != "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.latest, h.due = n, now.Add(n.Verdict.Wait)
	early := h.arrived.Add(commitAfter).Sub(now)
	switch {
	case h.committed || h.stopped:
	case h.timer == nil && early > 0:
		h.timer = time.AfterFunc(early, h.tick)
	default:
		if h.timer != nil {
			h.timer.Stop()
		}
		h.beat()
		h.timer = time.AfterFunc(pingEvery, h.tick)
	}
}

// tick is the timer's: it writes what is due and sets the timer anew.
func (h *hold) tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	h.beat()
	h.timer.Reset(pingEvery)
}

// beat writes one frame, before the first one the headers.
func (h *hold) beat() {
	if !h.committed {
		h.commit()
	}
	frame := []byte(nil)
	if h.pings++; h.pings%beatEvery == 0 {
		frame = h.dialect.Heartbeat(h.form, h.client)
	}
	if frame == nil {
		frame = h.dialect.Ping(h.form, h.state())
	}
	_ = push(h.w, frame, writeLimit) // what cannot be written ends the request's context
}

// commit writes the headers of a stream.
func (h *hold) commit() {
	h.committed = true
	header := h.w.Header()
	header.Set("Content-Type", h.form.ContentType())
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	h.w.WriteHeader(http.StatusOK)
}

// state says where the call stands, for those who watch the bytes.
func (h *hold) state() string {
	in := "now"
	if left := time.Until(h.due); left > 0 {
		in = "in " + (left + time.Second - 1).Truncate(time.Second).String()
	}
	return fmt.Sprintf("ridethrough retry %d %s %v", h.latest.Run.Tries, in, h.latest.Fault.Kind)
}

// stop ends the hold, before anything else is written. It tells whether the
// headers are out. It may be called again.
func (h *hold) stop() (committed bool) {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	if h.timer != nil {
		h.timer.Stop()
	}
	return h.committed
}
