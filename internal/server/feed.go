package server

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/wire"
)

// How many events are there for readers that come back. Those that only tell
// of time passing must not push the others out.
const (
	keptBound    = 4096
	passingBound = 512
)

// remindTime is how often a wait is told of while it lasts.
const remindTime = 30 * time.Second

// Feed turns what the gateway tells into the public events and keeps the
// latest of them. Its methods may be called by many goroutines at the same
// time.
type Feed struct {
	boot    string // begins the ids of this process
	waiting atomic.Int64

	mu      sync.Mutex
	seq     int64
	kept    ring
	passing ring
	news    chan struct{}     // closed with the next event
	calls   map[int64]*waiter // those that wait, or try again
	ends    endings[int64]    // how others have ended that had
	turns   endings[string]   // the same of turns
}

// waiter is a call that has failed and is not over.
type waiter struct {
	call    wire.Call
	fault   *fault.Error
	attempt int
	retries int
	waited  time.Duration
	due     time.Time
	remind  *time.Timer // nil: none is set
}

// NewFeed gives a feed whose events are numbered from 1.
func NewFeed() *Feed {
	return &Feed{
		boot:    strings.ToLower(rand.Text()[:8]),
		kept:    ring{bound: keptBound},
		passing: ring{bound: passingBound},
		news:    make(chan struct{}),
		calls:   make(map[int64]*waiter),
	}
}

// Watch is told of what happens at the gateway: it is for gateway.Config.
func (f *Feed) Watch(e gateway.Event) {
	switch e.Type {
	case gateway.Retrying, gateway.BrokeOff, gateway.GaveUp:
	case gateway.Tried, gateway.Recovered, gateway.Switched, gateway.Left, gateway.Ended:
		if f.waiting.Load() == 0 {
			return // it has not failed before
		}
	default:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch(e, f.calls[e.Call.ID])
}

// watch publishes what an event means for the public. c is nil for a call that
// has not failed before.
func (f *Feed) watch(e gateway.Event, c *waiter) {
	n := e.Note
	switch {
	case e.Type == gateway.Retrying:
		f.retry(e, c)
	case e.Type == gateway.GaveUp || e.Type == gateway.BrokeOff:
		f.ends.note(e.Call.ID, "failed", n.Retries(), n.Waited)
		f.forget(e.Call.ID, c)
		f.publish(e.At, wire.NewError(callOf(e.Call), n.Fault, n.Retries(), n.Waited))
	case c == nil:
	case e.Type == gateway.Tried:
		c.stop()
	case e.Type == gateway.Switched:
		f.publish(e.At, wire.ProviderSwitched{Call: callOf(e.Call), From: e.From, To: e.Call.Upstream, Why: c.fault.Redacted()})
	case e.Type == gateway.Recovered:
		f.ends.note(e.Call.ID, "recovered", n.Retries(), n.Waited)
		f.forget(e.Call.ID, c)
		f.publish(e.At, wire.ProviderRecovered{Call: callOf(e.Call), Retries: n.Retries(), WaitedMs: n.Waited.Milliseconds()})
	case e.Type == gateway.Left:
		f.ends.note(e.Call.ID, "left", c.retries, c.waited)
		f.forget(e.Call.ID, c)
		f.publish(e.At, wire.NewError(c.call, &fault.Error{Kind: fault.Canceled, Message: "the client has left"}, c.retries, c.waited))
	case e.Type == gateway.Ended:
		f.ends.note(e.Call.ID, "failed", c.retries, c.waited)
		f.forget(e.Call.ID, c)
		f.publish(e.At, wire.NewError(c.call, c.fault, c.retries, c.waited))
	}
}

// retry tells of a wait that begins.
func (f *Feed) retry(e gateway.Event, c *waiter) {
	n := e.Note
	if c == nil {
		c = new(waiter)
		f.calls[e.Call.ID] = c
		f.waiting.Add(1)
	}
	c.stop()
	c.call, c.fault, c.attempt = callOf(e.Call), n.Fault, max(0, n.Run.Tries-1)
	c.retries, c.waited, c.due = n.Retries(), n.Waited, e.At.Add(n.Verdict.Wait)
	f.publish(e.At, wire.NewRetry(c.call, n.Fault, n.Run, n.Verdict, n.Limit, n.Deadline))
	if n.Verdict.Wait > remindTime {
		f.remindOf(c)
	}
}

// remindOf tells of a wait now and then until it is over.
func (f *Feed) remindOf(c *waiter) {
	var t *time.Timer
	t = time.AfterFunc(remindTime, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		now := time.Now()
		left := c.due.Sub(now)
		if c.remind != t || left <= 0 {
			return // that wait is over
		}
		f.publish(now, wire.ProviderWaiting{Call: c.call, Attempt: c.attempt, RemainingMs: left.Milliseconds()})
		if left > remindTime {
			t.Reset(remindTime)
		}
	})
	c.remind = t
}

// stop ends the reminders of a wait.
func (c *waiter) stop() {
	if c != nil && c.remind != nil {
		c.remind.Stop()
		c.remind = nil
	}
}

// forget ends the story of a call.
func (f *Feed) forget(id int64, c *waiter) {
	if c != nil {
		c.stop()
		delete(f.calls, id)
		f.waiting.Add(-1)
	}
}

// callOf gives a call as the public events name it.
func callOf(c gateway.Call) wire.Call {
	return wire.Call{
		ConversationID: c.Session, TurnID: strconv.FormatInt(c.ID, 10),
		Provider: c.API, Model: c.Model, Upstream: c.Upstream,
	}
}

// publish numbers an event, keeps it and wakes the readers.
func (f *Feed) publish(at time.Time, body wire.Body) {
	f.seq++
	to := &f.kept
	if _, ok := body.(wire.ProviderWaiting); ok {
		to = &f.passing
	}
	to.add(entry{f.seq, f.encode(f.id(f.seq), wire.Event{Seq: f.seq, Time: at, Body: body})})
	close(f.news)
	f.news = make(chan struct{})
}

// encode gives an event as it is sent.
func (f *Feed) encode(id string, e wire.Event) []byte {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // our own types have a form
	}
	var b bytes.Buffer
	frame(&b, id, e.Body.Type(), text)
	return b.Bytes()
}

// id gives an event's id: the process, then the number.
func (f *Feed) id(seq int64) string { return f.boot + "-" + strconv.FormatInt(seq, 10) }

// since gives what has happened after a number, in order, and a channel that
// is closed with the next event. missed is how many of what is to be kept is
// not there any more; those that tell of time passing do not count.
func (f *Feed) since(seq int64) (entries []entry, missed bool, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries = append(f.kept.since(seq), f.passing.since(seq)...)
	slices.SortFunc(entries, func(a, b entry) int { return int(a.seq - b.seq) })
	return entries, f.kept.lost > seq, f.news
}

// resume finds where a reader goes on that names the last event it has seen.
// reset says why it cannot be given all that has happened since; "": it can.
func (f *Feed) resume(last string) (after int64, reset string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last == "" {
		return f.seq, ""
	}
	boot, number, _ := strings.Cut(last, "-")
	seq, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || len(boot) != len(f.boot) || seq < 0:
		return f.kept.lost, "unknown"
	case boot != f.boot:
		return f.kept.lost, "restarted"
	case seq > f.seq:
		return f.kept.lost, "unknown"
	case seq < f.kept.lost:
		return f.kept.lost, "gap"
	}
	return seq, ""
}
