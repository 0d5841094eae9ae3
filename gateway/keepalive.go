package gateway

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// The schedule of a keepalive. Most clients give up after 60 to 300 s without a
// byte, and some count only events; see docs/holding.md for their limits.
const (
	commitAfter      = 10 * time.Second // after the request for a stream arrived
	lateCommitAfter  = 25 * time.Second // for an answer without a stream, which can only be cut from then on, once a fault has happened or the upstream has said 200: before h2o and Traffic Server give up, at 30 s of silence
	pingEvery        = 10 * time.Second
	heartbeatEvery   = 5                // a heartbeat in place of each fifth ping, so that two are at most 60 s apart
	pingWriteTimeout = 10 * time.Second // a client that reads no ping for so long is gone
)

// keepalive keeps a client's connection open while its request waits, for a try that is silent as for one to
// come. It commits, with status 200 and the first ping, some time after the request arrived, or when the
// second try of a stream fails. From then on it writes whole frames until it is stopped. What comes later
// than that has lost its status and its headers: an error is the API's own error event.
//
// It has no goroutine while it waits. The nil keepalive does nothing.
type keepalive struct {
	call *call

	mu        sync.Mutex
	timer     *time.Timer    // nil: an answer without a stream, and no fault so far
	first     time.Time      // when the timer first fires
	wait      *policy.Wait   // the latest; nil: no try has failed
	queue     *sharedRequest // that waits for room below a limit; nil: it does not
	faults    int
	lines     toldLines
	pings     int
	forgets   bool           // the request leans on a memory that does not outlast a hold
	shared    *sharedRequest // of the call; nil: not known so far
	begun     bool           // its answer has begun, without content so far
	committed bool
	stopped   bool
	middle    *api.Middle   // where in an answer that has begun; nil: in none
	sending   chan struct{} // closed when the frame in progress is out; nil: there is none
}

// toldLines are what a preamble has told.
type toldLines struct {
	retry  *turn.Retry // the latest; nil: none
	told   time.Time   // when it told the wait or its rest last
	trying bool        // a try is made in that wait
	secret string      // of one that has begun: permits commands
}

// newKeepalive returns the keepalive of a call; nil if the form of the answer is not known.
func newKeepalive(c *call) *keepalive {
	if c.body.unreadable && c.preamble == nil {
		return nil
	}
	k := &c.alive
	k.call, k.forgets = c, c.parsed.Leans && c.dialect.ForgetsSoon() && c.preamble == nil
	if c.form != api.JSON || c.preamble != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.schedule(commitAfter)
	}
	return k
}

// failed notes a failed try that another follows.
func (k *keepalive) failed(w policy.Wait) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wait, k.begun = &w, false
	if w.Fault != nil && w.Fault.Doubted > 0 {
		k.postpone()
		return
	}
	k.faults++
	switch {
	case k.call.form == api.JSON:
		k.schedule(lateCommitAfter)
	case k.faults > 1:
		k.schedule(0)
	}
}

// postpone has the commit wait until it is known whether a refused key or model stays refused: the client is to see the
// status. mu is held.
func (k *keepalive) postpone() {
	if first := k.call.info.Began.Add(lateCommitAfter); k.faults == 0 && k.timer != nil && !k.committed && !k.stopped && first.After(k.first) {
		k.timer.Reset(max(0, time.Until(first)))
		k.first = first
	}
}

// answerBegan notes that an answer has begun, without content so far: there is no other status to lose, and what comes
// meanwhile is held back.
func (k *keepalive) answerBegan() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = true
	k.schedule(lateCommitAfter)
}

// takesPart notes the shared request of the call.
func (k *keepalive) takesPart(s *sharedRequest) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shared = s
}

// forgotten returns the request that ends in place of the commit: the client of one that leans on a short memory sends
// everything after an answer with a status, and loses its turn after an error in a stream. nil: none does.
func (k *keepalive) forgotten() *sharedRequest {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.forgets || k.committed || k.stopped || k.begun {
		return nil
	}
	return k.shared
}

// waiting notes that the request waits for another one's try.
func (k *keepalive) waiting() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.schedule(lateCommitAfter)
}

// queueBegan notes that the request waits for room below a limit.
func (k *keepalive) queueBegan(s *sharedRequest) { k.setQueue(s) }

// queueEnded notes that it does not any more.
func (k *keepalive) queueEnded() { k.setQueue(nil) }

func (k *keepalive) setQueue(s *sharedRequest) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = s
}

// schedule sets the timer for the first frame, or to an earlier time.
func (k *keepalive) schedule(after time.Duration) {
	if k.forgets {
		after = lateCommitAfter
	}
	first := k.call.info.Began.Add(after)
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

// tick writes what is due and resets the timer. It has no lock while it writes: a client that reads nothing delays
// nothing but its own answer.
func (k *keepalive) tick() {
	if s := k.forgotten(); s != nil {
		s.endUnanswered(errForgotten)
		return
	}
	frame, sent := k.begin()
	if frame == nil {
		return
	}
	_ = k.call.write(frame, pingWriteTimeout) // a failed write ends the request's context
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sending = nil
	close(sent)
	switch p := k.call.preamble; {
	case k.stopped:
	case p != nil && p.Pending():
		k.timer.Reset(0)
	default:
		k.timer.Reset(pingEvery)
	}
}

// begin returns the next frame, which the caller writes, and what to close then. The first has the headers before
// it. nil: none is due.
func (k *keepalive) begin() (frame []byte, sent chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped || k.sending != nil {
		return nil, nil
	}
	if !k.committed {
		k.commit()
	}
	if p := k.call.preamble; p != nil && k.middle == nil {
		k.sending = make(chan struct{})
		return k.nextLines(p), k.sending
	}
	k.pings++
	k.sending = make(chan struct{})
	return k.frame(k.pings%heartbeatEvery == 0), k.sending
}

// frame returns a heartbeat, where the client has one, or a ping.
func (k *keepalive) frame(heartbeat bool) (frame []byte) {
	d, form := k.call.dialect, k.call.form
	switch {
	case heartbeat && k.middle != nil:
		frame = k.middle.Heartbeat()
	case heartbeat:
		frame = d.Heartbeat(form, k.call.client())
	}
	switch {
	case frame != nil:
		return frame
	case k.middle != nil:
		return k.middle.Ping(k.comment())
	}
	return d.Ping(form, k.call.client(), k.comment())
}

// resume starts the keepalive in an answer that has begun and of which nothing is sent for now. The caller writes
// nothing before it has stopped it.
func (k *keepalive) resume(m api.Middle) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.committed, k.stopped, k.middle = true, false, &m
	if k.timer == nil {
		k.timer = time.AfterFunc(pingEvery, k.tick)
		return
	}
	k.timer.Reset(pingEvery)
}

// commit writes the headers of an answer.
func (k *keepalive) commit() {
	k.committed = true
	if p := k.call.preamble; p != nil {
		k.lines.secret = rand.Text()
		p.Begin(fmt.Sprintf("%d-%s", k.call.info.ID, k.lines.secret))
		return
	}
	header := k.call.w.Header()
	header.Set("Content-Type", k.call.form.ContentType())
	header.Set("Cache-Control", "no-cache")
	passAtOnce(header)
	if k.call.r.ProtoMajor == 1 && k.call.dialect.EndsWithConnection(k.call.form, k.call.client(), k.call.eachPart) {
		header.Set("Transfer-Encoding", "identity") // net/http: no chunks, and the connection is closed at the end
	}
	k.call.w.WriteHeader(http.StatusOK)
}

// comment describes the wait, for a reader of the raw stream.
func (k *keepalive) comment() string {
	if k.queue != nil {
		if p := k.queue.place(); p != nil {
			return "ridethrough waits: " + p.String()
		}
	}
	if k.wait == nil {
		return "ridethrough waits"
	}
	if opens := k.wait.Fault.OpensAgain(time.Now()); opens != "" {
		return "ridethrough waits: the usage window " + opens
	}
	in := "now"
	if left := time.Until(k.wait.Due); left > 0 {
		in = "in " + text.Duration((left + time.Second - 1).Truncate(time.Second))
	}
	return fmt.Sprintf("ridethrough retry %d %s %v", k.wait.Retry(), in, k.wait.Fault.Kind)
}

// isCommitted reports whether the headers are out.
func (k *keepalive) isCommitted() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.committed
}

// stop ends the keepalive, before anything else is written, and reports whether
// the headers are out. It may be called again.
func (k *keepalive) stop() (committed bool) {
	if k == nil {
		return false
	}
	k.mu.Lock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
	committed, sending := k.committed, k.sending
	k.mu.Unlock()
	if sending != nil {
		<-sending
	}
	return committed
}

// A client of this project, an agent or another gateway, learns about its request's wait from a preamble to the
// answer. It gets no other keepalive, and no status is lost: the answer after the preamble has its own.

// waitingEvery is how often the preamble states the rest of a wait.
const waitingEvery = 30 * time.Second

// tell adds an event of the shared request to the preambles of its calls.
func (s *sharedRequest) tell(e turn.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		c.keepalive.tell(e)
	}
}

// tell adds an event to the preamble, if the client reads one. It begins with the first retry.
func (k *keepalive) tell(e turn.Event) {
	if k == nil || k.call.preamble == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.middle != nil {
		return // the preamble is over
	}
	k.call.preamble.Tell(e)
	switch e := e.(type) {
	case turn.Retry:
		k.lines.retry, k.lines.told, k.lines.trying = &e, time.Now(), false
		k.schedule(0)
	case turn.Waiting:
		k.lines.told, k.lines.trying = time.Now(), false
	}
	if k.committed && !k.stopped && k.sending == nil {
		k.timer.Reset(0)
	}
}

// tries notes that a try is made before the wait in the preamble is over: the preamble says nothing more about the wait
// until that try has failed.
func (k *keepalive) tries() {
	if k == nil || k.call.preamble == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines.trying = true
}

// ongoing returns the event of the wait that the request is in, for a call that joins it; false: it is in none.
func (s *sharedRequest) ongoing() (turn.Retry, bool) {
	s.mu.Lock()
	w, at, cache := s.overall(), s.at, s.cached()
	s.mu.Unlock()
	w.Verdict.Wait = max(0, time.Until(w.Due))
	return turn.Retry{Name: llm.Name{Provider: s.leader.info.API, Model: at.model}, Upstream: at.Name, Wait: w, Cache: cache}, w.Fault != nil
}

// nextLines returns what is written to the preamble next. mu is held.
func (k *keepalive) nextLines(p *preamble.Writer) []byte {
	if r := k.lines.retry; r != nil && !k.lines.trying && !p.Pending() && time.Since(k.lines.told) >= waitingEvery && time.Until(r.Due) > 0 {
		k.lines.told = time.Now()
		p.Tell(turn.Waiting{Name: r.Name, Upstream: r.Upstream, Retry: r.Retry(), Remaining: time.Until(r.Due)})
	}
	return p.Take()
}

// permits reports whether a secret is that of the call's preamble.
func (k *keepalive) permits(secret string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lines.secret != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(k.lines.secret)) == 1
}
