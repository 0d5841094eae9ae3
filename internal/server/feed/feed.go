// Package feed publishes what happens at the gateway and in turns as public events and keeps the latest of them for
// readers that reconnect: it is behind /-/events. It also remembers how waits have ended.
package feed

import (
	"bytes"
	"crypto/rand"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/stream"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// How many events are kept for readers that reconnect. Reminders must not evict the others.
const (
	keptBound     = 4096
	reminderBound = 512
)

// remindTime is the time between the reminders of a wait.
const remindTime = 30 * time.Second

// Feed publishes the events of a gateway and keeps the latest. Its methods may be called concurrently.
type Feed struct {
	boot    string // begins the ids of this process
	waiting atomic.Int64

	mu        sync.Mutex
	seq       int64
	kept      ring
	reminders ring
	news      chan struct{}   // closed with the next event
	calls     map[int64]*call // those that have failed and have not ended
	callEnds  ends[int64]     // how the waits of the latest calls ended, by the call's id
	turnEnds  ends[string]    // how the waits of the latest turns ended, by the conversation's id
}

// call is a call that has failed and has not ended.
type call struct {
	gateway.Call
	retry  turn.Retry  // the latest
	remind *time.Timer // nil: none is set
}

// New returns a feed whose events are numbered from 1.
func New() *Feed {
	return &Feed{
		boot:      strings.ToLower(rand.Text()[:8]),
		kept:      ring{bound: keptBound},
		reminders: ring{bound: reminderBound},
		news:      make(chan struct{}),
		calls:     make(map[int64]*call),
	}
}

// Boot returns the name of this process, which begins the ids of its events.
func (f *Feed) Boot() string { return f.boot }

// Watch publishes an event of the gateway, or of a turn. It does not keep e, which is large.
func (f *Feed) Watch(e *gateway.Event) {
	switch {
	case e.Crossed != nil:
		f.limitUsed(e)
		return
	case e.Queued != nil, e.Admitted != 0:
		f.queued(e)
		return
	}
	switch e.Event.(type) {
	case turn.Start:
		return
	case turn.Retry, turn.Error:
	default:
		if f.waiting.Load() == 0 {
			return // it has not failed before
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch(e, f.calls[e.Call.ID])
}

// watch publishes an event of the gateway. c is nil for a call that has not failed before.
func (f *Feed) watch(e *gateway.Event, c *call) {
	switch event := e.Event.(type) {
	case turn.Retry:
		f.retry(e, c, event)
	case turn.Error:
		if c == nil && event.Stop == "" {
			return // the client has left, or the gateway is closed, before a try has failed
		}
		how := "failed"
		if event.Left() {
			how = "left"
		}
		f.publish(e)
		f.end(e.Call.ID, c, how, event.Retries, event.Waited)
	case turn.Recovered:
		if c != nil {
			f.publish(e)
			f.end(e.Call.ID, c, "recovered", event.Retries, event.Waited)
		}
	case turn.Sealed:
		if c != nil {
			f.end(e.Call.ID, c, "failed", event.RetryCount, event.TotalRetryDelay)
		}
	case turn.Switched:
		if c != nil {
			f.publish(e)
		}
	case nil:
		c.stop()
	}
}

// retry publishes the begin of a wait.
func (f *Feed) retry(e *gateway.Event, c *call, r turn.Retry) {
	if c == nil {
		c = new(call)
		f.calls[e.Call.ID] = c
		f.waiting.Add(1)
	}
	c.stop()
	c.Call, c.retry = e.Call, r
	f.publish(e)
	if r.Verdict.Wait > remindTime {
		f.startReminders(c)
	}
}

// end keeps how a call's waiting ended, and forgets the call.
func (f *Feed) end(id int64, c *call, how string, retries int, waited time.Duration) {
	if id >= 0 { // of turns see WatchTurn
		f.callEnds.add(id, how, retries, waited)
	}
	if c != nil {
		c.stop()
		delete(f.calls, id)
		f.waiting.Add(-1)
	}
}

// startReminders publishes a reminder of a wait every remindTime until it is over.
func (f *Feed) startReminders(c *call) {
	var t *time.Timer
	t = time.AfterFunc(remindTime, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		now := time.Now()
		left := c.retry.Due.Sub(now)
		if c.remind != t || left <= 0 {
			return // that wait is over
		}
		reminder := turn.Waiting{Name: c.retry.Name, Upstream: c.retry.Upstream, Retry: c.retry.Wait.Retry(), Remaining: left}
		f.publish(&gateway.Event{At: now, Call: c.Call, Event: reminder})
		if left > remindTime {
			t.Reset(remindTime)
		}
	})
	c.remind = t
}

// stop ends the reminders of a wait.
func (c *call) stop() {
	if c != nil && c.remind != nil {
		c.remind.Stop()
		c.remind = nil
	}
}

// limitUsed publishes that a limit of an upstream is nearly used up. It is about a credential, and not about the call.
func (f *Feed) limitUsed(e *gateway.Event) {
	l := e.Crossed.Limit
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(&f.kept, e.At, wire.LimitUsed{
		Upstream: e.Crossed.Upstream, Credential: api.Credential(e.Crossed.Credential), Model: e.Crossed.Model,
		Limit: l.Name, Level: api.Percent(e.Crossed.Level), Used: api.Percent(l.Used), ResetAt: api.Time(l.Reset),
	})
}

// queued publishes that a call waits for room below a limit, or that it no longer does.
func (f *Feed) queued(e *gateway.Event) {
	about := wire.Ref{ConversationID: e.Call.Session, TurnID: turnID(&e.Call)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Queued == nil {
		f.add(&f.kept, e.At, wire.LimitWaited{
			Ref: about, Provider: e.Call.API, Model: e.Call.Model, Upstream: e.Call.Upstream, Waited: wire.Millis(e.Admitted),
		})
		return
	}
	f.add(&f.kept, e.At, wire.LimitWaiting{
		Ref: about, Provider: e.Call.API, Model: e.Call.Model, Upstream: e.Call.Upstream,
		Ahead: e.Queued.Ahead, Limit: e.Queued.String(), Remaining: wire.Millis(e.Queued.In),
	})
}

// publish publishes an event of a call.
func (f *Feed) publish(e *gateway.Event) {
	to := &f.kept
	if _, ok := e.Event.(turn.Waiting); ok {
		to = &f.reminders
	}
	f.add(to, e.At, wire.Turn{Ref: wire.Ref{ConversationID: e.Call.Session, TurnID: turnID(&e.Call)}, Event: e.Event})
}

// add numbers an event, keeps it and wakes the readers.
func (f *Feed) add(to *ring, at time.Time, body wire.Body) {
	f.seq++
	to.add(entry{f.seq, f.encode(f.id(f.seq), wire.Event{Seq: f.seq, Time: at, Body: body})})
	close(f.news)
	f.news = make(chan struct{})
}

// turnID returns the id of a turn, or the number of a request.
func turnID(c *gateway.Call) string {
	if c.Face != "" {
		return c.Turn
	}
	return strconv.FormatInt(c.ID, 10)
}

// encode returns an event as it is sent.
func (f *Feed) encode(id string, e wire.Event) []byte {
	i := stream.NewItem(e)
	if i.Err != nil {
		panic(i.Err) // our own types can be encoded
	}
	var b bytes.Buffer
	stream.Frame(&b, id, i.Type, i.JSON)
	return b.Bytes()
}

// id returns the id of an event: the process, then the number.
func (f *Feed) id(seq int64) string { return f.boot + "-" + strconv.FormatInt(seq, 10) }

// since returns the events after a number, in order, and a channel that is closed with the next event. missed
// reports whether events were evicted that the reader has not seen; reminders do not count.
func (f *Feed) since(seq int64) (entries []entry, missed bool, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries = append(f.kept.since(seq), f.reminders.since(seq)...)
	sort.Slice(entries, func(i, j int) bool { return entries[i].seq < entries[j].seq })
	return entries, f.kept.evicted > seq, f.news
}

// resume returns the number after which a reader continues that has seen the event last. reset is the reason
// why it cannot get everything since then; "": it can.
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
		return f.kept.evicted, "unknown"
	case boot != f.boot:
		return f.kept.evicted, "restarted"
	case seq > f.seq:
		return f.kept.evicted, "unknown"
	case seq < f.kept.evicted:
		return f.kept.evicted, "gap"
	}
	return seq, ""
}
