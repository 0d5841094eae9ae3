package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/transport"
)

// CompleteMode is what happens to a streamed answer that breaks off after its first content.
type CompleteMode string

// The modes.
const (
	CompleteOff      CompleteMode = "off"      // it ends with an error
	CompleteLossless CompleteMode = "lossless" // it is asked for again while its client has been sent nothing that it keeps
	CompleteText     CompleteMode = "text"     // besides, a text that breaks off is continued by another request, where the two join for certain
	CompletePrefill  CompleteMode = "prefill"  // the same at servers that continue a turn of the model's, which repeat nothing: llama-server and Ollama
)

// CompleteModes returns all modes.
func CompleteModes() []CompleteMode {
	return []CompleteMode{CompleteLossless, CompleteText, CompletePrefill, CompleteOff}
}

// maxAgain is how often one answer that breaks off is asked for again. Each time costs its tokens.
const maxAgain = 2

// Completed says how an answer was completed that had broken off after its first content.
type Completed struct {
	Again     int  // how often it was asked for again; 0: it was not
	Discarded int  // the tokens that were paid for besides those of one whole answer, as far as that is known
	Text      bool // it was continued in the middle of a text
	Unjoined  bool // it was not completed: what came then did not continue its text
}

// continuedHeader tells in a trailer how often an answer was asked for again after its first content. The headers
// are out by then. Only a client that asks for trailers gets it: lighttpd passes one on as a broken header, and proxies
// of Node end at it.
const continuedHeader = "X-Ridethrough-Continued"

// completion is how far an answer is out that may be asked for again.
type completion struct {
	prelude      api.Prelude
	text         *continuation // of the answer; nil: it is not continued
	again        int           // how often the answer has been asked for after its first content
	withheld     int           // bytes that are reserved for what is withheld of the answer
	answering    bool          // part of an answer is out
	afterContent atomic.Bool   // a part of the answer that broke off is out
	since        time.Time     // when the answer broke off, of which the next request takes another way; zero: none does
	pinging      bool          // the keepalive runs though an answer has begun: nothing of it is sent
}

// follow begins to follow an answer that may be completed.
func (c *call) follow(body any) {
	w, watched := body.(transport.Watched)
	switch {
	case c.completion.again > 0:
		return
	case !watched || c.keepalive == nil || c.outcome.Verdict.Stop != "":
	case c.shared.at.CompleteFor(c.shared.at.model) == CompleteOff:
	default:
		c.completion.prelude.Begin(c.dialect, w.Form(), c.client())
		c.followText(w.Form())
	}
	if !c.completion.prelude.Follows() && c.completion.text == nil {
		c.body.Release() // no try follows
	}
}

// preludeOf returns what the client is sent of the next part of an answer, or at its end: all of it, unless it may
// have to be asked for again. The error is errFailedInside if it has ended with the provider's, which is left out.
func (c *call) preludeOf(part []byte, end error, body any) (send []byte, err error) {
	failed := false
	if len(part) > 0 {
		send, failed = c.completion.prelude.Add(part)
	}
	if end == io.EOF && !failed {
		if failed = c.completion.prelude.Watches() && body.(transport.Watched).Failure() != nil; !failed {
			send = append(bytes.Clone(send), c.completion.prelude.End()...)
		}
	}
	switch held := c.completion.prelude.Withheld(); {
	case held == 0:
		c.releaseWithheld()
	case held <= c.completion.withheld:
	case c.gateway.spool.Reserve(withheldStep, true):
		c.completion.withheld += withheldStep
	default:
		send = append(bytes.Clone(send), c.completion.prelude.Release()...)
		c.releaseWithheld()
	}
	if c.completion.prelude.IsOver() && c.completion.text == nil {
		c.body.Release()
	}
	if failed {
		return send, errFailedInside
	}
	return send, nil
}

// ping starts the keepalive in an answer of which nothing is sent for now.
func (c *call) ping() {
	if !c.completion.pinging {
		c.completion.pinging = true
		c.keepalive.resume(c.completion.prelude.Middle())
	}
}

// withheldStep is how much memory is taken at a time for what is withheld. One more read may exceed it.
const withheldStep = 16 << 10

// releaseWithheld returns the memory of what was withheld.
func (c *call) releaseWithheld() {
	if c.completion.withheld == 0 {
		return
	}
	c.gateway.spool.Return(int64(c.completion.withheld))
	c.completion.withheld = 0
}

// pause ends the keepalive in an answer, of which more is sent now.
func (c *call) pause() {
	if c.completion.pinging {
		c.completion.pinging = false
		c.keepalive.stop()
	}
}

// askAgain asks for an answer again that has broken off, and sends the client what comes. It
// waits as for a first answer. false: the answer stays broken off, as one does whose request leans on the server's
// memory: the client has its id, under which the server does not keep the other one.
func (c *call) askAgain(f *fault.Error) bool {
	if c.r.Context().Err() != nil || c.gateway.draining.Err() != nil || c.parsed.Leans {
		return false
	}
	wait := c.waitAfter(f)
	if wait.Verdict.Stop != "" || c.completion.again == maxAgain {
		return false
	}
	resumed := c.completion.text != nil && c.completion.text.Resumable() && c.continues()
	restarts := !resumed && c.completion.prelude.Restartable()
	if !resumed && !restarts && !c.continues() {
		return false
	}
	c.completion.again++
	closeResponse(c.shared.resp) // a wait holds no connection
	if restarts {
		c.restoreBody()
		c.send(c.completion.prelude.Restart())
	}
	c.releaseWithheld()
	c.lead(wait)
	return true
}

// lead leads a shared request for what is missing of the answer, and sends the client what comes.
func (c *call) lead(wait policy.Wait) {
	c.ping()
	c.completion.afterContent.Store(c.completion.answering)
	c.carried, c.answered, c.silence = &wait, false, 0
	s := c.leadAgain()
	c.shared = s
	began := s.failover.Since
	defer s.release(c)
	defer context.AfterFunc(c.r.Context(), func() { s.leave(c) })()
	s.run()
	if c.r.Context().Err() != nil && !c.goesOn() || s.winner != c {
		c.clientLeft()
	}
	if c.refuses(s) {
		c.completion.since = began
		c.takeAnotherWay(wait.Fault)
		return
	}
	c.outcome, c.completion.pinging = s.soFar(), false
	c.answer(s.resp, s.err)
}

// refuses reports whether the answer is not resumed: its server does not know the token, or would be left for another one.
func (c *call) refuses(s *sharedRequest) bool {
	if s.stranded {
		c.outcome.Run = s.last.Run // of which the waits count
		c.completion.text.Refuse()
		return true
	}
	return c.resumes() && s.gaveUp() && s.last.Fault != nil && c.completion.text.Refused(s.last.Fault.Status)
}

// takeAnotherWay completes an answer that is not resumed, or ends it with what has broken it off.
func (c *call) takeAnotherWay(f *fault.Error) {
	c.pause()
	closeResponse(c.shared.resp)
	c.completion.again-- // nothing was answered
	if !c.askAgain(f) {
		c.fail(f)
	}
}

// waitAfter returns the wait that follows an answer that has broken off: as if it had failed before its content.
func (c *call) waitAfter(f *fault.Error) policy.Wait {
	at, now := c.shared.at, time.Now()
	p, run := at.settings(at.model).policy, c.outcome.Run
	if run.Started.IsZero() {
		run.Started = now
	}
	next, v := p.Next(run, f, false, now, rand.Float64())
	return policy.Wait{
		Run: next, Fault: f, Verdict: v, Due: now.Add(v.Wait), Limit: p.Limit(next, f),
		Deadline: p.LatestWait(run, now), Waited: c.outcome.Waited,
	}
}

// leadAgain returns the shared request by which the call asks again. What an upstream has cut twice is asked of the
// next one.
func (c *call) leadAgain() *sharedRequest {
	s := c.newShared()
	if s.failover.Since = time.Now(); !c.completion.since.IsZero() {
		s.failover.Since, c.completion.since = c.completion.since, time.Time{}
	}
	if c.completion.again > 1 {
		s.failover.leavesAtOnce(c.carried.Fault.Kind)
	}
	return s
}

// completed reports an answer that was asked for again, and is whole.
func (c *call) completed() {
	if c.completion.again == 0 {
		return
	}
	if takesTrailers(c.r.Header) {
		c.w.Header().Set(http.TrailerPrefix+continuedHeader, strconv.Itoa(c.completion.again))
	}
	c.emit(Event{Completed: Completed{Again: c.completion.again, Discarded: c.billedTwice(), Text: c.body.own}})
}

// billedTwice returns the tokens that were paid for besides those of one whole answer. A broken one may not have said
// what it took: its input was that of the request that was answered.
func (c *call) billedTwice() int {
	tokens, unstated := c.completion.prelude.Discarded()
	tokens += unstated * int(c.shared.used.Input+c.shared.used.Cached)
	if c.completion.text != nil {
		tokens += c.completion.text.BilledTwice()
	}
	return tokens
}

// sayContinued says in a comment that what follows is of another answer, where the dialect has a place for one.
func (c *call) sayContinued() string {
	if c.completion.again == 0 {
		return ""
	}
	return fmt.Sprintf("; asked for again (%d), as the answer had broken off", c.completion.again)
}

// continuation continues the text of one answer by another request.
type continuation struct {
	*api.Completion
	request received // of the answer; zero: no other request has been made
}

// followText begins to follow an answer whose text may be continued.
func (c *call) followText(f api.Form) {
	mode := c.shared.at.CompleteFor(c.shared.at.model)
	a := api.NewCompletion(c.dialect, f)
	if a == nil {
		return
	}
	if at := c.shared.at; at.upstream != c.upstream || at.model != c.parsed.Model {
		a.Refuse() // who is asked first knows none of its tokens
	}
	if a.Lossless = mode == CompleteLossless; !a.Lossless || a.HasCheckpoints() {
		a.Prefill = c.upstream.CompleteFor(c.parsed.Model) == CompletePrefill // who is asked for the rest first
		c.completion.text = &continuation{Completion: a}
		c.completion.prelude.Watch()
	}
}

// continues replaces the call's body by one that asks for the rest of the text that has broken off; false: that
// would not be sound.
func (c *call) continues() bool {
	if c.completion.text == nil || !c.completion.prelude.Follows() {
		return false
	}
	c.meaning() // of the request that the client has sent
	c.restoreBody()
	var request bytes.Buffer
	if !c.eachPart(func(part []byte) (more bool) { request.Write(part); return true }) {
		return false
	}
	text, err := c.completion.text.Continue(request.Bytes())
	if err != nil {
		return false
	}
	body, err := c.gateway.spool.Read(io.NopCloser(bytes.NewReader(text)), int64(len(text)), int64(len(text)))
	if err != nil {
		return false // no room
	}
	c.completion.text.request, c.body = c.body, received{Body: body, own: true}
	c.completion.prelude.Rejoin()
	return true
}

// restoreBody has the call's body be that of the request that the client has sent.
func (c *call) restoreBody() {
	if c.body.own {
		c.body.Release()
		c.body, c.completion.text.request = c.completion.text.request, received{}
	}
}

// resumes reports whether the call's body has the token of a checkpoint.
func (c *call) resumes() bool { return c.body.own && c.completion.text.Resumes() }

// mayAsk reports whether a fallback may be sent the call's request. The memory that a request leans on is the first
// upstream's. A server that does not continue the model's turn would begin another, which nothing tells from the rest.
func (c *call) mayAsk(d destination) bool {
	if c.parsed.Leans && d.upstream != c.upstream {
		return false
	}
	return !c.body.own || !c.completion.text.Prefilled() || d.CompleteFor(d.model) == CompletePrefill
}

// errUnjoined is the end of an answer whose text another one did not continue.
var errUnjoined = &fault.Error{
	Kind: fault.Truncated, Status: http.StatusOK, Rule: "gateway/unjoined", Err: errLocal,
	Message: "the answer broke off, and what the model wrote then does not continue it for certain",
}

// restOf returns what the client is sent of the next part of an answer that continues another one's text, or at its
// end.
func (c *call) restOf(part []byte, end error, body any) (send []byte, err error) {
	if f := body.(transport.Watched).Failure(); f != nil {
		return nil, f
	}
	if len(part) > 0 {
		send, err = c.completion.text.Add(part)
	} else if end == io.EOF {
		send, err = c.completion.text.End()
	}
	if err != nil && c.completion.text.Resumes() && !c.completion.text.Lossless {
		c.completion.text.Refuse()
		return nil, errUnjoined // the rest may be asked for
	}
	if err != nil {
		c.completion.again = maxAgain // another one would not be better
		c.emit(Event{Completed: Completed{Again: maxAgain, Discarded: c.billedTwice(), Text: true, Unjoined: true}})
		return nil, errUnjoined
	}
	return c.preludeOf(send, end, body)
}

// releaseText frees the request of an answer that was continued.
func (c *call) releaseText() {
	if c.body.own {
		c.completion.text.request.Release()
	}
}
