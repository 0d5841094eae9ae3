package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/coding"
)

// call is one request over all its tries.
type call struct {
	*Transport
	req     *http.Request
	dialect *api.API // nil: it asks for no answer
	limits  Limits
	room    *room        // nil: it waits for none
	sent    int          // how often it has been sent
	silent  int          // how often it was silent for too long
	empty   bool         // a try has had an empty answer: the next one is returned
	first   http.Request // of the first try, as most calls have no other: one allocation for all three
	answer  stream       // likewise
}

// try sends the request once. It returns only answers: a failure before the first
// content is an error.
func (c *call) try(ctx context.Context, _ int) (*http.Response, error) {
	if err := c.room.acquire(ctx); err != nil {
		return nil, err
	}
	var ctxs link
	if c.Retry.Policy.Deadline > 0 {
		ctx, ctxs = linkContexts(ctx, c.req.Context())
		defer ctxs.unlinkTry()
	}
	ctx, w := c.limits.start(ctx, c.sent+1, c.silent)
	out, err := c.outgoing(ctx)
	if err != nil {
		w.end()
		ctxs.end()
		return nil, err
	}
	resp, err := c.send(out, w)
	if err != nil {
		w.end()
		ctxs.end()
		return nil, c.failed(w.cause(err))
	}
	if c.Retry.Policy.Deadline > 0 {
		resp.Body = &linkedBody{resp.Body, ctxs}
	}
	w.wrap(resp)
	resp, err = c.check(resp)
	switch ok := w.answered(); {
	case err != nil:
		return nil, c.failed(err)
	case !ok:
		_ = resp.Body.Close()
		return nil, w.cause(context.DeadlineExceeded)
	case c.dialect != nil:
		w.learn()
	}
	return resp, nil
}

// failed returns the fault of a try, and notes a silence.
func (c *call) failed(err error) *fault.Error {
	f := c.Faults.Of(err, time.Now())
	c.room.failed(f)
	if f.Code == fault.SilentTry || f.Code == fault.Silence {
		c.silent++
	}
	return f
}

// outgoing returns the request of a try: with its context and, where the body may have been read, a fresh one. The
// retry count is set only where the SDK says "0", so that the provider sees true counts and no SDK is contradicted.
func (c *call) outgoing(ctx context.Context) (*http.Request, error) {
	fresh := c.req.GetBody != nil && (c.sent > 0 || mayBeRead(c.req))
	if c.sent == 0 && !fresh && c.sharesContext() {
		return c.req, nil
	}
	out := &c.first
	if c.sent == 0 {
		c.first = *c.req.WithContext(ctx)
	} else {
		out = c.req.WithContext(ctx)
	}
	if fresh {
		body, err := c.req.GetBody()
		if err != nil {
			return nil, &fault.Error{
				Kind: fault.Invalid, Message: "the request's body cannot be read again", Err: err, Rule: "transport/body",
			}
		}
		if c.sent == 0 && c.req.Body != nil {
			_ = c.req.Body.Close()
		}
		out.Body = body
	}
	if c.sent > 0 && len(c.req.Header[retryCount]) > 0 && !resent(c.req) {
		out.Header = c.req.Header.Clone()
		out.Header.Set(retryCount, strconv.Itoa(c.sent))
	}
	return out, nil
}

// writtenAtOnce is a size below which net/http sends a body whole or not at all.
const writtenAtOnce = 4 << 10

// mayBeRead reports whether a part of a body may be gone before its first try: an SDK, such as Cohere's, may send the same
// request twice. A small body is whole unless it is at its end, which a read of nothing tells; a fresh one of each
// would cost every call two allocations.
func mayBeRead(req *http.Request) bool {
	if req.Body == nil || req.Body == http.NoBody || req.ContentLength == 0 {
		return false
	}
	if req.ContentLength >= writtenAtOnce {
		return true
	}
	_, err := req.Body.Read(nil)
	return err == io.EOF
}

// errNoResponse is the error of a RoundTripper that returns neither.
var errNoResponse = errors.New("the RoundTripper returned no response and no error")

// send sends a try and adds the parts of the response that a RoundTripper may have
// left out.
func (c *call) send(out *http.Request, w *watchdog) (*http.Response, error) {
	c.sent++
	resp, err := c.roundTrip(out, w)
	if err != nil || resp == nil {
		c.room.unanswered()
	}
	switch {
	case err != nil && resp != nil && resp.Body != nil:
		_ = resp.Body.Close() // against the rules, but it happens
		return nil, err
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoResponse
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	_, _ = c.observed(resp, nil)
	coding.DecodeUnasked(resp, out.Header)
	c.room.responded(resp)
	resp.Request = c.req // whose context is the caller's; that of the try has the mark of the run
	return resp, nil
}

// check returns the response if it is an answer, or its fault.
func (c *call) check(resp *http.Response) (*http.Response, error) {
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		return nil, c.errorStatus(resp)
	case c.dialect == nil || resp.StatusCode != http.StatusOK || coding.Of(resp.Header) != "":
		return unlimited(resp), nil
	}
	return c.readAhead(resp)
}

// errorStatus returns the fault of a response with an error status. A slow body is
// not waited for, since the status says enough.
func (c *call) errorStatus(resp *http.Response) error {
	a := &ahead{src: resp.Body}
	late := time.AfterFunc(errorBodyLimit, func() { _ = a.release() })
	a.fillUp(maxErrorBody)
	late.Stop()
	read := c.Faults.FromResponse
	if a.err != nil && a.err != io.EOF {
		read = c.Faults.FromPartialResponse
	}
	return reject(read(resp.StatusCode, resp.Header, coding.Decoded(resp.Header, a.buf, maxErrorBody), time.Now()), resp, a)
}

// readAhead reads an answer up to its first content and returns the response that
// replays it.
func (c *call) readAhead(resp *http.Response) (*http.Response, error) {
	s := &c.answer
	if c.sent > 1 {
		s = new(stream) // the first may still be in use
	}
	s.src, s.dialect, s.faults, s.refusals = resp.Body, c.dialect, c.Faults, c.Refusals
	s.errLine = c.NoErrorLine
	if w, ok := resp.Body.(*watchdog); ok {
		s.watch, w.follows = w, true
	}
	s.fill(maxAhead)
	s.form = c.form(resp, s.buf)
	for s.form == api.JSON && s.err == nil && len(s.buf) < len("event:") {
		s.fill(maxAhead)
		s.form = c.form(resp, s.buf)
	}
	if s.form != api.JSON {
		s.withholds = c.completes(s.form)
		s.errLine = s.errLine || s.withholds
		if f := s.open(c.Opened); !c.accepts(f) {
			return nil, reject(f, resp, s)
		}
		resp.Body = s
		return resp, nil
	}
	if s.watch != nil {
		s.watch.whole.Store(true)
	}
	a := &s.ahead
	f := c.readWhole(resp, s)
	switch {
	case f == nil && a.err == io.EOF:
		if f := emptyFault(s.tally.Output()); !c.accepts(f) {
			return nil, reject(f, resp, a)
		}
	case f != nil:
		if len(a.buf) == 0 || f.Kind == fault.Truncated {
			_ = a.Close()
			return nil, f // nothing to return, or half of it: Ollama's client takes an empty body for an answer, whatever its status
		}
		setErrorStatus(resp, f.Kind)
		if a.err == io.EOF && c.dialect.HidesError(api.JSON, a.buf) {
			_ = a.Close()
			setBody(resp, c.dialect.ErrorBody(f, f.Error()))
			return nil, reject(f, resp, resp.Body)
		}
		return nil, reject(f, resp, a)
	}
	if f := s.refusal(a.buf); f != nil {
		return nil, reject(f, resp, a)
	}
	resp.Body = a
	return resp, nil
}

// accepts reports whether an answer is returned: it has no fault, or it is empty and one has been asked for again
// already. A provider that fails in this way has something to say the next time; a model that does not has nothing to say.
func (c *call) accepts(f *fault.Error) bool {
	empty := f != nil && errors.Is(f, errEmpty)
	accepted := f == nil || empty && c.empty
	c.empty = c.empty || empty
	return accepted
}

// readWhole reads an answer that is not streamed to its end, since a part of it is
// of no use: one that breaks off is tried again. One that is too large to keep is
// returned as it comes.
func (c *call) readWhole(resp *http.Response, s *stream) *fault.Error {
	a, limit := &s.ahead, maxAhead
	if !mayBeObject(a.buf) {
		limit = maxErrorBody // a page: no answer
	}
	a.fillUp(limit)
	switch {
	case a.err == nil && limit == maxAhead:
		return nil
	case a.err != nil && a.err != io.EOF:
		return c.Faults.Broken(a.err, time.Now())
	}
	kind, parts := c.dialect.ReadFrame(api.JSON, a.buf)
	switch kind {
	case api.Failure:
		return c.Faults.FromResponse(resp.StatusCode, resp.Header, c.dialect.ErrorText(api.JSON, a.buf), time.Now())
	case api.Opening:
		return c.Faults.Broken(nil, time.Now())
	}
	s.tally.AddParts(c.dialect, api.JSON, a.buf, &parts)
	a.ending = c.dialect.EndingOf(&parts)
	a.release() // the connection is free while the answer is being read
	resp.ContentLength = int64(len(a.buf))
	return nil
}

// mayBeObject reports whether the beginning of a body may be that of a JSON object.
func mayBeObject(begin []byte) bool {
	for _, c := range begin {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '{'
		}
	}
	return true
}

// form returns the form of an answer, by its type and its first bytes.
func (c *call) form(resp *http.Response, begin []byte) api.Form {
	kind := ""
	if k := resp.Header["Content-Type"]; len(k) > 0 {
		kind = k[0]
	}
	return c.dialect.AnswerForm(c.req.URL, kind, begin)
}
