package live

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Bounds of the events that are kept for readers that reconnect. Reminders must not evict the others.
const (
	keptBound     = 4096
	reminderBound = 512
)

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
	ends      ends            // of the latest waits
}

type call struct {
	gateway.Call
	retry  turn.Retry  // the latest
	remind *time.Timer // nil: no reminder
}

// NewFeed returns a feed whose events are numbered from 1.
func NewFeed() *Feed {
	return &Feed{
		boot:      strings.ToLower(rand.Text()[:8]),
		kept:      ring{bound: keptBound},
		reminders: ring{bound: reminderBound},
		news:      make(chan struct{}),
		calls:     make(map[int64]*call),
		ends:      ends{byKey: map[key]End{}},
	}
}

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

// end records how a call's wait ended, and forgets the call.
func (f *Feed) end(id int64, c *call, how string, retries int, waited time.Duration) {
	if id >= 0 { // of turns see WatchTurn
		f.ends.add(key{number: id}, how, retries, waited)
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

func (c *call) stop() {
	if c != nil && c.remind != nil {
		c.remind.Stop()
		c.remind = nil
	}
}

// limitUsed publishes that a limit of an upstream is nearly used up. The event concerns a credential, not the call.
func (f *Feed) limitUsed(e *gateway.Event) {
	l := e.Crossed.Limit
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(&f.kept, e.At, wire.LimitUsed{
		Upstream: e.Crossed.Upstream, Credential: api.Credential(e.Crossed.Credential), Model: e.Crossed.Model,
		Limit: l.Name, Level: api.Percent(e.Crossed.Level), Used: api.Percent(l.Used), ResetAt: api.Time(l.Reset),
	})
}

// queued publishes that a call waits for room below a limit, or no longer does.
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

func turnID(c *gateway.Call) string {
	if c.Face != "" {
		return c.Turn
	}
	return strconv.FormatInt(c.ID, 10)
}

func (f *Feed) encode(id string, e wire.Event) []byte {
	i := rest.NewItem(e)
	if i.Err != nil {
		panic(i.Err) // our own types can be encoded
	}
	var b bytes.Buffer
	rest.Frame(&b, id, i.Type, i.JSON)
	return b.Bytes()
}

// id returns the id of an event: the process, then the number.
func (f *Feed) id(seq int64) string { return f.boot + "-" + strconv.FormatInt(seq, 10) }

// since returns the events after a number in order, and a channel that the next event closes. missed reports
// whether events were evicted that the reader has not seen, except reminders.
func (f *Feed) since(seq int64) (entries []entry, missed bool, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries = slices.Concat(f.kept.since(seq), f.reminders.since(seq))
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
	return entries, f.kept.evicted > seq, f.news
}

// resume returns the number after which a reader continues that has last seen an event. reset is why some events
// since then are lost, or "".
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

type entry struct {
	seq  int64
	text []byte
}

type ring struct {
	bound   int
	all     []entry // in order
	evicted int64   // the number of the latest event that is not kept any more
}

func (r *ring) add(e entry) {
	if len(r.all) >= r.bound {
		r.evicted, r.all = r.all[0].seq, r.all[1:]
	}
	r.all = append(r.all, e)
}

func (r *ring) since(seq int64) []entry {
	first, _ := slices.BinarySearchFunc(r.all, seq+1, func(e entry, seq int64) int { return cmp.Compare(e.seq, seq) })
	return r.all[first:]
}

// Serve returns the handler that sends events as they happen, after the event that the reader names. It disconnects
// a reader that is too slow for the stored events: the reader reconnects and learns of the gap.
func (f *Feed) Serve(readers *rest.Readers) http.HandlerFunc {
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
func (f *Feed) follow(out *rest.Stream, after int64) {
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
		if out.Flush() != nil || !rest.Await(out, news) {
			return
		}
	}
}

const endsBound = 4096

// End is how a wait ended.
type End struct {
	How     string // "recovered", "failed", or "left": the client left or stopped it
	Retries int
	Waited  time.Duration
}

// ends are the ends of the latest waits: of calls by their ids, of turns by their conversations.
type ends struct {
	byKey map[key]End
	order []key // the oldest first
}

// add keeps an end, in place of the oldest if there are too many.
func (e *ends) add(k key, how string, retries int, waited time.Duration) {
	if _, known := e.byKey[k]; known {
		return // a call whose answer breaks off has recovered first
	}
	e.byKey[k] = End{how, retries, waited}
	if e.order = append(e.order, k); len(e.order) > endsBound {
		delete(e.byKey, e.order[0])
		e.order = e.order[1:]
	}
}

// drop removes an end: there is another wait with that key.
func (e *ends) drop(k key) {
	if _, known := e.byKey[k]; known {
		delete(e.byKey, k)
		e.order = slices.DeleteFunc(e.order, func(o key) bool { return o == k })
	}
}

// CallEnd returns how the wait of a call ended; false: unknown, or already forgotten.
func (f *Feed) CallEnd(id int64) (End, bool) { return f.endOf(key{number: id}) }

func (f *Feed) endOf(k key) (End, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.ends.byKey[k]
	return e, ok
}

// WatchTurn records how the waits of turns end. It publishes nothing. waited, with turn.Sealed: the turn waited for
// its provider, which has not answered since.
func (f *Feed) WatchTurn(e gateway.Event, waited bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch end := e.Event.(type) {
	case turn.Retry:
		f.ends.drop(key{text: e.Call.Session})
	case turn.Recovered:
		f.ends.add(key{text: e.Call.Session}, "recovered", end.Retries, end.Waited)
	case turn.Sealed:
		if !waited {
			return
		}
		how := map[turn.Status]string{turn.Done: "recovered", turn.Failed: "failed", turn.Aborted: "left"}[end.Status]
		f.ends.add(key{text: e.Call.Session}, how, end.RetryCount, end.TotalRetryDelay)
	}
}
