package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
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
	CompletePrefill  CompleteMode = "prefill"  // the same, for servers of one's own that go on with a turn of the model's: nothing is repeated
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
	Resumed   int  // of these, how often for the rest of it, which the provider had in the background
	Discarded int  // the tokens that were paid for besides those of one whole answer, as far as that is known
	Text      bool // it was continued in the middle of a text
	Unjoined  bool // it was not completed: what came then did not continue its text
}

// continuedHeader tells in a trailer how often an answer was asked for again after its first content. The headers
// are out by then.
const continuedHeader = "X-Ridethrough-Continued"

// follow begins to follow an answer that may be completed.
func (c *call) follow(body any) {
	w, watched := body.(transport.Watched)
	if c.background = nil; watched {
		c.background = c.shared.background
	}
	switch {
	case c.again > 0:
		return
	case !watched || c.keepalive == nil || c.outcome.Verdict.Stop != "":
	case c.shared.at.CompleteFor(c.shared.at.model) == CompleteOff:
	default:
		c.prelude.Begin(c.dialect, w.Form(), c.client())
		c.followText(w.Form())
		if c.background != nil {
			c.prelude.Watch()
		}
	}
	if !c.prelude.Follows() && c.text == nil {
		c.body.Release() // no try follows
	}
}

// preludeOf returns what the client is sent of the next part of an answer, or at its end: all of it, unless it may
// have to be asked for again. The error is errFailedInside if it has ended with the provider's, which is left out.
func (c *call) preludeOf(part []byte, end error, body any) (send []byte, err error) {
	failed := false
	if len(part) > 0 {
		send, failed = c.prelude.Add(part)
	} else if end == io.EOF {
		if failed = c.prelude.Watches() && body.(transport.Watched).Failure() != nil; !failed {
			send = c.prelude.End()
		}
	}
	if more := c.prelude.Withheld() - c.withheld; more > 0 {
		if c.gateway.spool.Reserve(withheldStep, true) {
			c.withheld += withheldStep
		} else {
			send = append(bytes.Clone(send), c.prelude.Release()...)
		}
	}
	if c.prelude.IsOver() {
		c.releaseWithheld()
		if c.text == nil {
			c.body.Release()
		}
	}
	if failed {
		return send, errFailedInside
	}
	return send, nil
}

// ping starts the keepalive in an answer of which nothing is sent for now.
func (c *call) ping() {
	if !c.pinging {
		c.pinging = true
		c.keepalive.resume(c.prelude.Middle())
	}
}

// withheldStep is how much memory is taken at a time for what is withheld. One more read may exceed it.
const withheldStep = 16 << 10

// releaseWithheld returns the memory of what was withheld.
func (c *call) releaseWithheld() {
	c.gateway.spool.Return(int64(c.withheld))
	c.withheld = 0
}

// pause ends the keepalive in an answer, of which more is sent now.
func (c *call) pause() {
	if c.pinging {
		c.pinging = false
		c.keepalive.stop()
	}
}

// askAgain asks for an answer again that has broken off, or for the rest of it, and sends the client what comes. It
// waits as for a first answer. false: the answer stays broken off.
func (c *call) askAgain(f *fault.Error) bool {
	if c.r.Context().Err() != nil || c.gateway.draining.Err() != nil {
		return false
	}
	wait := c.waitAfter(f)
	switch {
	case wait.Verdict.Stop != "":
		return false
	case c.resumable() && c.goOn(wait):
		return true
	case c.again-c.resumed == maxAgain || !c.prelude.Restartable() && !c.continues():
		return false
	}
	c.again++
	closeResponse(c.shared.resp) // a wait holds no connection
	if c.prelude.Restartable() {
		c.send(c.prelude.Restart())
	}
	c.releaseWithheld()
	return c.lead(wait, c.leadAgain)
}

// lead leads a shared request for what is missing of the answer, and sends the client what comes. false: that is
// nothing, and the answer stays as it was.
func (c *call) lead(wait policy.Wait, begin func() *sharedRequest) bool {
	c.ping()
	c.afterContent.Store(c.answering)
	c.carried, c.answered, c.silence = &wait, false, 0
	before, s := c.shared, begin()
	c.shared = s
	defer s.release(c)
	defer context.AfterFunc(c.r.Context(), func() { s.leave(c) })()
	s.run()
	if c.r.Context().Err() != nil && !c.goesOn() || s.winner != c {
		c.clientLeft()
	}
	if s.resumes && s.background.gone {
		c.pause()
		c.shared = before
		return false
	}
	c.outcome, c.pinging = s.soFar(), false
	c.answer(s.resp, s.err)
	return true
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

// leadAgain returns the shared request by which the call asks again.
func (c *call) leadAgain() *sharedRequest {
	s := c.newShared()
	s.failover.Since = time.Now()
	return s
}

// completed reports an answer that was asked for again, and is whole.
func (c *call) completed() {
	if c.again == 0 {
		return
	}
	c.w.Header().Set(http.TrailerPrefix+continuedHeader, strconv.Itoa(c.again))
	c.emit(Event{Completed: Completed{Again: c.again, Resumed: c.resumed, Discarded: c.billedTwice(), Text: c.continuing()}})
}

// billedTwice returns the tokens that were paid for besides those of one whole answer. A broken one may not have said
// what it took: its input was that of the request that was answered.
func (c *call) billedTwice() int {
	tokens, unstated := c.prelude.Discarded()
	tokens += unstated * int(c.shared.used.Input+c.shared.used.Cached)
	if c.text != nil {
		tokens += c.text.BilledTwice()
	}
	return tokens
}

// sayContinued says in a comment that what follows is of another answer, where the dialect has a place for one.
func (c *call) sayContinued() string {
	switch {
	case c.again == 0:
	case c.shared.resumes:
		return fmt.Sprintf("; resumed (%d), as the answer had broken off", c.again)
	default:
		return fmt.Sprintf("; asked for again (%d), as the answer had broken off", c.again)
	}
	return ""
}
