package gateway

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/cork"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/transport"
)

// clientStallTimeout is how long a client may read none of its answer before it
// counts as gone: longer than a laptop stays closed by accident.
const clientStallTimeout = 10 * time.Minute

// forward sends a response to the client, from its status line on.
func (c *call) forward(resp *http.Response) {
	c.sendHeader(resp)
	c.copyBody(resp.Body)
}

// sendHeader sends the status line and the headers of a response.
func (c *call) sendHeader(resp *http.Response) {
	dropNamed(resp.Header, resp.Header["Connection"]) // not of h: it could name a header that the server has set
	h := c.w.Header()
	for name, values := range resp.Header {
		switch {
		case isHopByHop(name), strings.HasPrefix(name, headerPrefix), rulesOrigin(name): // the prefix: perhaps of another gateway
		case h[name] != nil:
			h[name] = append(slices.Clip(h[name]), values...) // Vary
		default:
			h[name] = values
		}
	}
	w, watched := resp.Body.(transport.Watched)
	if watched {
		c.form = w.Form()
		h.Del("Content-Length") // an error may have to be added
	} else if resp.ContentLength > 0 && h["Content-Length"] == nil {
		h["Content-Length"] = []string{strconv.FormatInt(resp.ContentLength, 10)} // sent at once, without chunks
	}
	h["X-Ridethrough-Upstream"] = []string{c.shared.at.Name}
	if model := c.shared.at.model; model != c.parsed.Model {
		h["X-Ridethrough-Model"] = []string{model}
	}
	h[preamble.Call] = []string{strconv.FormatInt(c.info.ID, 10)}
	if c.noteEnding(resp.Body); c.note != "" {
		h["X-Ridethrough-Note"] = []string{string(c.note)}
	}
	c.setStop(c.outcome)
	c.status = resp.StatusCode
	if f := c.outcome.Fault; c.outcome.Verdict.Stop != "" {
		c.dropLongWaits(h)
		c.status = c.lastClient().FinalStatus(c.status, f.Kind)
	}
	if c.status == http.StatusOK && (watched || isStream(h)) {
		passAtOnce(h)
	}
	c.w.WriteHeader(c.status)
}

// noteEnding notes what is known of an answer beyond what it says, once its end has been read: that of a stream comes
// when the headers are out.
func (c *call) noteEnding(body io.Reader) {
	if b, ok := body.(interface{ Ending() api.Ending }); ok {
		bounds := c.parsed.Bounds
		bounds.Size = c.body.Size()
		c.note = c.dialect.Note(bounds, b.Ending())
	}
}

// setStop sets the headers that say how often a call was retried, why not once more, and when it could be.
func (c *call) setStop(w policy.Wait) {
	h := c.w.Header()
	if n := w.Retries(); n > 0 {
		h.Set("X-Ridethrough-Retries", strconv.Itoa(n))
		h.Set("X-Ridethrough-Waited-Ms", strconv.FormatInt(w.Waited.Milliseconds(), 10))
	}
	if w.Verdict.Stop != "" {
		h.Set(classify.GatewayStop, strings.ReplaceAll(string(w.Verdict.Stop), " ", "-"))
		now := time.Now()
		if wait := w.Fault.RetryAfter(now); w.Fault.Window || wait > longestStated {
			h.Set("X-Ridethrough-Opens-At", now.Add(wait).UTC().Format(time.RFC3339))
		}
	}
}

// resume continues after the keepalive has sent the headers: with the answer, or
// with the error that a status can no longer report.
func (c *call) resume(resp *http.Response) {
	whole := resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Encoding") == ""
	form := api.JSON
	if w, ok := resp.Body.(transport.Watched); ok {
		form = w.Form()
	}
	switch {
	case c.outcome.Verdict.Stop != "":
		c.endGivenUp(resp)
	case form == c.form && whole:
		c.nameUpstream()
		c.copyBody(resp.Body)
	default:
		c.fail(&fault.Error{
			Kind: fault.Unavailable, Status: resp.StatusCode,
			Message: c.shared.at.Name + " answered without the stream that was asked for", Rule: "gateway/no stream", Err: errLocal,
		})
	}
}

// nameUpstream says in a comment who answers, where the headers went out before that was known.
func (c *call) nameUpstream() {
	at := c.shared.at
	text := "ridethrough answer from " + at.Name
	if at.model != c.parsed.Model {
		text += ", model " + at.model
	}
	text += c.sayContinued()
	if comment := c.dialect.Comment(c.form, c.client(), text); len(comment) > 0 && c.write(comment, clientStallTimeout) != nil {
		c.clientLeft()
	}
}

// copyBody sends the body as it arrives.
func (c *call) copyBody(body io.Reader) {
	c.follow(body)
	err := c.copyPart(body)
	if err == errFailedInside {
		if c.askAgain(body.(transport.Watched).Failure()) {
			return
		}
		c.send(c.completion.prelude.Fail())
		err = c.copyPart(body)
	}
	if err != io.EOF {
		c.brokenOff(err)
		return
	}
	c.completed()
	c.noteEnding(body)
	c.noteStreamError(body)
	c.endKept(c.kept != nil && c.isWhole(body))
	c.endFailed(body)
}

// errFailedInside is the end of an answer whose client has not been sent the provider's error.
var errFailedInside = errors.New("the answer has ended with an error")

// copyPart sends the body up to its end, which is io.EOF for a proper one, or up to an error in it.
func (c *call) copyPart(body io.Reader) error {
	buf := spool.NewBuffer(smallBuffer)
	defer func() { buf.Release() }()
	sized := c.w.Header()["Content-Length"] != nil // no write says where it ends
	for {
		n, err := body.Read(buf.Bytes[:cap(buf.Bytes)])
		if !sized && n > 0 && (n >= largePart || err == io.EOF) {
			cork.KeepNext(c.r.Context()) // more is likely to follow at once: the next part, or the end
		}
		if n > 0 && err == io.EOF {
			if wrong := c.sendNext(buf.Bytes[:n], nil, body); wrong != nil {
				return wrong
			}
			n = 0
		}
		if wrong := c.sendNext(buf.Bytes[:n], err, body); wrong != nil || err != nil {
			return cmp.Or(wrong, err)
		}
		want := smallBuffer // most of its time a stream waits for the next event, and thousands do at once
		if n >= largePart {
			want = largeBuffer
		}
		if want != cap(buf.Bytes) {
			buf.Release()
			buf = spool.NewBuffer(want)
		}
	}
}

// sendNext sends what the client is sent of the next part of the answer, or at its end.
func (c *call) sendNext(part []byte, end error, body io.Reader) error {
	part, wrong := c.toSend(part, end, body)
	if len(part) == 0 && end == nil {
		c.ping()
	}
	c.send(part)
	return wrong
}

// toSend returns what the client is sent of the next part of the answer, or at its end.
func (c *call) toSend(part []byte, end error, body io.Reader) ([]byte, error) {
	switch {
	case c.body.own:
		return c.restOf(part, end, body)
	case c.completion.prelude.Follows():
		return c.preludeOf(part, end, body)
	}
	return part, nil
}

// send sends a part of the answer.
func (c *call) send(part []byte) {
	if len(part) == 0 {
		return
	}
	c.pause()
	c.completion.answering = true
	if !c.passOn(part) {
		c.clientLeft() // or reads nothing
	}
	if c.completion.text != nil && !c.body.own {
		c.completion.text.Shown(part)
	}
}

// The buffers are as large as those of package transport, so that a part has whole frames if they are not larger. A
// large part is one of several which have come together.
const (
	smallBuffer = 4 << 10
	largeBuffer = 16 << 10
	largePart   = smallBuffer / 2
)

// write sends bytes to the client at once. It fails if the client reads none for so long.
func (c *call) write(p []byte, limit time.Duration) error { return c.out.Write(p, limit) }

// noteStreamError reports a stream that was whole but ended with the provider's
// own error: only the client has seen it.
func (c *call) noteStreamError(body io.Reader) {
	if w, ok := body.(transport.Watched); ok && w.Failure() != nil && c.outcome.Verdict.Stop == "" {
		c.emitBrokeOff(c.withoutWords(w.Failure()))
	}
}

// brokenOff ends an answer that broke off after its first content: with the
// dialect's own error, or with a cut connection where that has no place.
func (c *call) brokenOff(err error) {
	if c.r.Context().Err() != nil {
		c.clientLeft()
	}
	f := c.setup.faults.Broken(err, time.Now())
	if c.gateway.closing.Err() != nil {
		f = closingFault
	}
	// Package transport returns a fault if it has parsed the frames: then the client has only whole ones.
	if _, watched := errors.AsType[*fault.Error](err); watched {
		if !c.askAgain(f) {
			c.fail(f)
		}
		return
	}
	c.emitBrokeOff(f)
	c.cut()
}

// fail reports a fault of an answer whose headers are out.
func (c *call) fail(f *fault.Error) {
	if c.outcome.Verdict.Stop == "" {
		c.emitBrokeOff(f)
	}
	if f == closingFault {
		c.endStream(c.dialect.BrokenEvent, f, closing.message())
		return
	}
	text := "ridethrough: "
	if fault.Transient.Has(f.Kind) || f.Kind == fault.Unknown {
		text += mayPass
	}
	c.endStream(c.dialect.BrokenEvent, f, text+f.Error())
}

// mayPass begins an error after which the client may send the request again. Agents that go by words look for
// one of these, and few look at the type.
const mayPass = "service unavailable, connection reset: "

// replayedHeader is "true" on an answer that an earlier request of the same meaning was given, whose client has left, and
// "false" where another gateway of the fleet has such an answer and it could not be had.
const replayedHeader = "X-Ridethrough-Replayed"

// keepAnswer begins to keep the answer that the call is about to send, for when its client leaves.
func (c *call) keepAnswer(resp *http.Response) {
	if c.completion.again > 0 || c.outcome.Verdict.Stop != "" || resp == nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Encoding") != "" || !c.detaches() {
		return
	}
	m := c.meant.Load()
	if m == nil {
		return
	}
	w, watched := resp.Body.(transport.Watched)
	k := &keptAnswer{
		entry: c.newEntry(), answerHead: answerHead{id: c.info.ID, at: c.shared.at, header: resp.Header.Clone(), watched: watched},
		record: c.gateway.spool.NewRecord(), most: c.setup.detached.Bytes, inFleet: c.shared.leader.answerID(), follows: c.shared, client: c.r.Context(),
	}
	if watched {
		k.form = w.Form()
	}
	c.kept = k
	k.meaning, k.entry.kept = *m, k
	c.gateway.outcomes.add(&k.entry)
}

// replay sends the client the answer to the same request before; false: none is kept.
func (c *call) replay() bool {
	if len(c.setup.detached.Agents) == 0 {
		return false
	}
	k := c.gateway.outcomes.keptFor(c)
	if k == nil {
		k = c.keptElsewhere()
	}
	if k == nil {
		return false
	}
	committed := c.keepalive.stop() && c.preamble == nil // it has waited with another request
	c.shared = &sharedRequest{Gateway: c.gateway, setup: c.setup, leader: c}
	c.shared.at, c.shared.finished = k.at, true
	resp := k.response(c.r.Context())
	defer resp.Body.Close()
	defer k.follow(c)()
	c.emit(Event{Replayed: k.id})
	if committed {
		c.status = http.StatusOK
		c.resume(resp)
	} else {
		c.w.Header()[replayedHeader] = []string{"true"}
		c.forward(resp)
	}
	if c.r.Context().Err() == nil {
		c.gateway.outcomes.drop(&k.entry) // the client has it
		c.gateway.delivered(k)
	}
	return true
}

// passOn sends a part of the answer to the client, and keeps it. It reports whether the rest is of use.
func (c *call) passOn(p []byte) bool {
	if c.completion.again > 0 || c.shared.readsUsage() {
		c.shared.used.Scan(p)
	}
	k := c.kept
	if k == nil {
		return c.write(p, clientStallTimeout) == nil
	}
	useful := k.add(p)
	k.mu.Lock()
	left := k.isLeft()
	k.mu.Unlock()
	if !left && c.write(p, clientStallTimeout) == nil {
		return true
	}
	k.mu.Lock()
	k.left = true
	k.mu.Unlock()
	c.shared.leave(c)
	return useful
}

// endKept ends what is kept of the call's answer. It stays for a while if the client has left it, and it is whole.
func (c *call) endKept(whole bool) {
	k := c.kept
	if k == nil {
		return
	}
	c.kept = nil
	k.finish(whole)
	k.mu.Lock()
	left, isWhole := k.left, k.end == io.EOF
	k.mu.Unlock()
	if !left || !isWhole {
		c.gateway.outcomes.drop(&k.entry)
		if isWhole {
			c.gateway.answeredAnew(k)
		}
		return
	}
	until := time.Now().Add(c.setup.detached.Time)
	c.gateway.outcomes.expire(&k.entry, c.setup.detached.Time)
	c.offer(k, until)
	c.clientLeft()
}
