package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// completing is the body of an answer whose text is continued where it breaks off.
type completing struct {
	*stream       // that is read: the answer, or its rest
	call    *call // of the answer
	ctx     context.Context
	cancel  context.CancelFunc
	answer  *api.Completion
	run     policy.Run
	resting bool         // a rest is read
	broken  *fault.Error // what broke the answer off, at first; nil: nothing has
	failure []byte       // the provider's error event that did; nil: it was none
	buf     []byte       // of the rest
	out     []byte       // is returned before anything else
	last    error        // is returned behind it; nil: more is read

	reported *fault.Error // that of the error event, which the client has read; nil: it has read none

	mu     sync.Mutex // guards stream against Close
	closed bool
}

// completes reports whether answers of a form may be continued where their text breaks off.
func (c *call) completes(f api.Form) bool {
	return c.CompleteText && c.req.GetBody != nil && !c.isSigned() && api.NewCompletion(c.dialect, f) != nil
}

// isSigned reports whether the request has a signature, which holds for its own body only (Amazon Bedrock).
func (c *call) isSigned() bool {
	return strings.HasPrefix(c.req.Header.Get("Authorization"), "AWS4-") || c.req.URL.Query().Has("X-Amz-Signature")
}

// complete returns a response whose body is continued where its text breaks off, if it may be.
func (c *call) complete(resp *http.Response) *http.Response {
	s, streams := resp.Body.(*stream)
	if !streams || !s.withholds {
		return resp
	}
	answer := api.NewCompletion(c.dialect, s.form)
	ctx, cancel := context.WithCancel(c.req.Context())
	resp.Body = &completing{stream: s, call: c, ctx: ctx, cancel: cancel, answer: answer}
	return resp
}

// Read returns what the client is to read: the answer, and where that breaks off the rest of it.
func (b *completing) Read(p []byte) (int, error) {
	for len(b.out) == 0 && b.last == nil {
		if b.resting {
			b.readRest()
			continue
		}
		n, err := b.stream.Read(p)
		b.answer.Shown(p[:n])
		if n > 0 || err == io.EOF {
			return n, err
		}
		b.goOn(err)
	}
	if len(b.out) > 0 {
		n := copy(p, b.out)
		b.out = b.out[n:]
		return n, nil
	}
	return 0, b.last
}

// readRest reads from the rest.
func (b *completing) readRest() {
	n, err := b.stream.Read(b.buf)
	send, wrong := b.answer.Add(b.buf[:n])
	if err == io.EOF && wrong == nil {
		var end []byte
		end, wrong = b.answer.End()
		send, b.last = append(send, end...), io.EOF
	}
	b.out = send
	switch {
	case wrong != nil && b.answer.Resumes(): // with other words than those behind the checkpoint
		b.answer.Refuse()
		b.last = nil
		b.goOn(b.broken)
	case wrong != nil: // it does not continue the answer
		b.fail()
	case err != nil && err != io.EOF:
		b.goOn(err)
	}
}

// goOn asks for the rest of an answer that has broken off, or ends it.
func (b *completing) goOn(err error) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || b.ctx.Err() != nil {
		b.last = err
		return
	}
	if b.broken == nil {
		b.broken, b.failure = f, b.withheld
	}
	rest, ok := b.ask(f)
	if !ok {
		b.fail()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream = rest; b.closed {
		_ = rest.Close()
	}
	b.resting = true
	b.buf = make([]byte, restBuffer)
}

// restBuffer is how much of a rest is read at once.
const restBuffer = 16 << 10

// ask asks for the rest, with the waits of the policy, and reports whether there is one.
func (b *completing) ask(f *fault.Error) (rest *stream, ok bool) {
	_ = b.stream.Close() // a wait holds no connection
	req, err := b.request()
	if err != nil {
		return nil, false
	}
	c := &call{Transport: b.call.Transport, req: req, dialect: b.call.dialect, limits: b.call.limits, room: b.call.newRoom(req, b.call.dialect)}
	retrier, leave := c.retrier()
	defer leave()
	wait := b.waitAfter(retrier, f)
	if wait.Verdict.Stop != "" {
		return nil, false
	}
	retrier.Resume = &wait
	resp, err := retry.Do(b.ctx, retrier, c.try)
	if refusal, ok := errors.AsType[*rejection](err); ok {
		status := refusal.resp.StatusCode
		_ = refusal.Close()
		if b.answer.Refused(status) {
			return b.ask(f)
		}
	}
	if err != nil {
		return nil, false
	}
	if rest, ok = resp.Body.(*stream); !ok || rest.form != b.form {
		_ = resp.Body.Close()
		return nil, false
	}
	return rest, true
}

// request returns the request for the rest.
func (b *completing) request() (*http.Request, error) {
	first, err := b.call.req.GetBody()
	if err != nil {
		return nil, err
	}
	defer first.Close()
	text, err := io.ReadAll(first)
	if err == nil {
		text, err = b.answer.Continue(text)
	}
	if err != nil {
		return nil, err
	}
	req := b.call.req.Clone(b.ctx)
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(text))
	req.Header.Del("Content-Length")
	return req, nil
}

// waitAfter returns the wait that follows an answer that has broken off, as if it had failed before its
// content, or the Stop with which the policy allows none.
func (b *completing) waitAfter(r retry.Retrier, f *fault.Error) policy.Wait {
	now, dice := time.Now(), rand.Float64
	if r.Rand != nil {
		dice = r.Rand
	}
	if b.run.Started.IsZero() {
		b.run.Started = now
	}
	next, v := r.Policy.Next(b.run, f, false, now, dice())
	w := policy.Wait{
		Run: next, Fault: f, Verdict: v, Due: now.Add(v.Wait), Limit: r.Policy.Limit(next, f), Deadline: r.Policy.LatestWait(b.run, now),
	}
	b.run = next
	return w
}

// fail ends the answer as it was: with the provider's error event, the line that a stream of lines has, or
// the fault.
func (b *completing) fail() {
	d := b.call.dialect
	switch {
	case b.ctx.Err() != nil:
		b.last = context.Cause(b.ctx)
	case b.failure != nil:
		b.out, b.last, b.reported = b.failure, io.EOF, b.broken
	case b.form == api.Lines && !b.call.NoErrorLine:
		b.out, b.last = d.ErrorEvent(b.form, b.broken, b.broken.Error(), true), b.broken
	default:
		b.last = b.broken
	}
}

// Close closes the body, and ends a wait for its rest.
func (b *completing) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.cancel()
	return b.stream.Close()
}

// Whole reports whether the answer had its proper end.
func (b *completing) Whole() bool {
	if b.broken == nil {
		return b.stream.Whole()
	}
	return b.last == io.EOF && b.reported == nil
}

// Failure returns the error event that the client has read in the stream.
func (b *completing) Failure() *fault.Error { return b.reported }
