package gateway

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// The clock of a hold. Most clients give up after 60 to 300 s without a byte,
// and some count only events; see docs/holding.md for who does what.
const (
	commitAfter      = 10 * time.Second // after the request came in, once a fault has happened
	lateCommitAfter  = 45 * time.Second // as late as clients bear: for an answer that is not streamed, whose only failure from then on is a cut, and for one that has opened and is silent
	pingEvery        = 10 * time.Second
	heartbeatEvery   = 5                // a heartbeat in place of each fifth ping, so that two are never more than 60 s apart
	pingWriteTimeout = 10 * time.Second // for a ping: a client that takes none for so long is gone
)

// acquire keeps the connection of a client alive that waits for its answer. It
// sends nothing before a fault has happened, its own or another's, so that a
// slow first try keeps its true status. It commits, with status 200 and the
// first ping, when the next try of a stream fails too, or some time after the
// request came in; from then on it writes whole frames until it is stopped.
//
// It has no goroutine of its own while it waits, and only the timer's writes:
// a stack that has written stays twice as large for as long as its request
// waits. The nil hold does nothing.
type keepalive struct {
	call   *call
	client dialect.Client

	mu        sync.Mutex  // also keeps frames from mixing
	timer     *time.Timer // nil: no fault yet
	first     time.Time   // when it first fires
	latest    Note
	due       time.Time // the next try
	faults    int
	pings     int
	committed bool
	stopped   bool
}

// newKeepalive makes the hold of a call; nil where nobody knows in which form its
// client would take a sign of life.
func newKeepalive(c *call) *keepalive {
	if c.unreadable {
		return nil
	}
	return &keepalive{call: c, client: dialect.Client{
		Agent: c.r.UserAgent(), Originator: c.r.Header.Get("Originator"), Model: c.parsed.Model,
	}}
}

// failed is told of each failed try that is followed by another.
func (k *keepalive) failed(n Note) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.latest, k.due = n, time.Now().Add(n.Verdict.Wait)
	if k.faults++; k.faults > 1 && k.call.parsed.Form != dialect.JSON {
		k.schedule(0)
		return
	}
	k.schedule(k.firstPingAfter())
}

// load is told that the request waits for another's try.
func (k *keepalive) waiting() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.schedule(k.firstPingAfter())
}

// opened is told that the upstream has said 200 and begun, and that its first
// content is still to come: there is no other status to lose, and what it sends
// meanwhile is kept back.
func (k *keepalive) opened() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.schedule(lateCommitAfter)
}

// firstPingAfter is how soon after the request came in a fault is answered with a hold.
func (k *keepalive) firstPingAfter() time.Duration {
	if k.call.parsed.Form == dialect.JSON {
		return lateCommitAfter
	}
	return commitAfter
}

// schedule sets the timer for the first frame, or sets it to an earlier time.
func (k *keepalive) schedule(after time.Duration) {
	first := k.call.arrived.Add(after)
	switch {
	case k.committed || k.stopped:
	case k.timer == nil:
		k.timer = time.AfterFunc(max(0, time.Until(first)), k.tick)
		k.first = first
	case first.Before(k.first):
		k.timer.Reset(max(0, time.Until(first)))
		k.first = first
	}
}

// tick is the timer's: it writes what is due and sets the timer anew.
func (k *keepalive) tick() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	k.ping()
	k.timer.Reset(pingEvery)
}

// ping writes one frame, before the first one the headers.
func (k *keepalive) ping() {
	if !k.committed {
		k.commit()
	}
	d, form, frame := k.call.dialect, k.call.parsed.Form, []byte(nil)
	if k.pings++; k.pings%heartbeatEvery == 0 {
		frame = d.Heartbeat(form, k.client)
	}
	if frame == nil {
		frame = d.Ping(form, k.comment())
	}
	_ = k.call.write(frame, pingWriteTimeout) // what cannot be written ends the request's context
}

// commit writes the headers of an answer.
func (k *keepalive) commit() {
	k.committed = true
	header := k.call.w.Header()
	header.Set("Content-Type", k.call.parsed.Form.ContentType())
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	k.call.w.WriteHeader(http.StatusOK)
}

// comment says where the call stands, for those who watch the bytes.
func (k *keepalive) comment() string {
	if k.latest.Fault == nil {
		return "ridethrough waits"
	}
	in := "now"
	if left := time.Until(k.due); left > 0 {
		in = "in " + (left + time.Second - 1).Truncate(time.Second).String()
	}
	return fmt.Sprintf("ridethrough retry %d %s %v", k.latest.Run.Tries, in, k.latest.Fault.Kind)
}

// isCommitted tells whether the headers are out.
func (k *keepalive) isCommitted() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.committed
}

// stop ends the hold, before anything else is written. It tells whether the
// headers are out. It may be called again.
func (k *keepalive) stop() (committed bool) {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
	return k.committed
}
