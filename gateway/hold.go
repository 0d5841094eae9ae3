package gateway

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/retry"
)

// The clock of a hold. Most clients give up after 60 to 300 s without a byte,
// and some count only events; see docs/holding.md for who does what.
const (
	commitAfter = 10 * time.Second // after the request came in, once a fault has happened
	commitLate  = 45 * time.Second // as late as clients bear: for an answer that is not streamed, whose only failure from then on is a cut, and for one that has opened and is silent
	pingEvery   = 10 * time.Second
	beatEvery   = 5                // a heartbeat in place of each fifth ping, so that two are never more than 60 s apart
	writeLimit  = 10 * time.Second // for a ping: a client that takes none for so long is gone
)

// hold keeps the connection of a client alive that waits for its answer. It
// sends nothing before a fault has happened, its own or another's, so that a
// slow first try keeps its true status. It commits, with status 200 and the
// first ping, when the next try of a stream fails too, or some time after the
// request came in; from then on it writes whole frames until it is stopped.
//
// It has no goroutine of its own while it waits, and only the timer's writes:
// a stack that has written stays twice as large for as long as its request
// waits. The nil hold does nothing.
type hold struct {
	call   *call
	client dialect.Client

	mu        sync.Mutex  // also keeps frames from mixing
	timer     *time.Timer // nil: no fault yet
	first     time.Time   // when it first fires
	latest    retry.Note
	due       time.Time // the next try
	faults    int
	pings     int
	committed bool
	stopped   bool
}

// newHold makes the hold of a call; nil where nobody knows in which form its
// client would take a sign of life.
func newHold(c *call) *hold {
	if c.blind {
		return nil
	}
	return &hold{call: c, client: dialect.Client{
		Agent: c.r.UserAgent(), Originator: c.r.Header.Get("Originator"), Model: c.asked.Model,
	}}
}

// fault is told of each failed try that is followed by another.
func (h *hold) fault(n retry.Note) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest, h.due = n, time.Now().Add(n.Verdict.Wait)
	if h.faults++; h.faults > 1 && h.call.asked.Form != dialect.JSON {
		h.start(0)
		return
	}
	h.start(h.early())
}

// begin is told that the request waits for another's try.
func (h *hold) begin() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.start(h.early())
}

// opened is told that the upstream has said 200 and begun, and that its first
// content is still to come: there is no other status to lose, and what it sends
// meanwhile is kept back.
func (h *hold) opened() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.start(commitLate)
}

// early is how soon after the request came in a fault is answered with a hold.
func (h *hold) early() time.Duration {
	if h.call.asked.Form == dialect.JSON {
		return commitLate
	}
	return commitAfter
}

// start sets the timer for the first frame, or sets it to an earlier time.
func (h *hold) start(after time.Duration) {
	first := h.call.arrived.Add(after)
	switch {
	case h.committed || h.stopped:
	case h.timer == nil:
		h.timer = time.AfterFunc(max(0, time.Until(first)), h.tick)
		h.first = first
	case first.Before(h.first):
		h.timer.Reset(max(0, time.Until(first)))
		h.first = first
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
	d, form, frame := h.call.dialect, h.call.asked.Form, []byte(nil)
	if h.pings++; h.pings%beatEvery == 0 {
		frame = d.Heartbeat(form, h.client)
	}
	if frame == nil {
		frame = d.Ping(form, h.state())
	}
	_ = h.call.push(frame, writeLimit) // what cannot be written ends the request's context
}

// commit writes the headers of an answer.
func (h *hold) commit() {
	h.committed = true
	header := h.call.w.Header()
	header.Set("Content-Type", h.call.asked.Form.ContentType())
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	h.call.w.WriteHeader(http.StatusOK)
}

// state says where the call stands, for those who watch the bytes.
func (h *hold) state() string {
	if h.latest.Fault == nil {
		return "ridethrough waits"
	}
	in := "now"
	if left := time.Until(h.due); left > 0 {
		in = "in " + (left + time.Second - 1).Truncate(time.Second).String()
	}
	return fmt.Sprintf("ridethrough retry %d %s %v", h.latest.Run.Tries, in, h.latest.Fault.Kind)
}

// isCommitted tells whether the headers are out.
func (h *hold) isCommitted() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.committed
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
