package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

// call is one request over all its tries.
type call struct {
	*Transport
	req     *http.Request
	dialect *dialect.Dialect // nil: it asks for no answer
	sent    int              // how often it has been sent
	answer  stream           // the first try's, as most calls have no other: one allocation for both
}

// try sends the request once. A response comes back only if it is an answer:
// what fails before the first content is an error.
func (c *call) try(ctx context.Context, _ int) (*http.Response, error) {
	var tied bond
	if c.Retry.Policy.Deadline > 0 {
		ctx, tied = tie(ctx, c.req.Context())
		defer tied.try()
	}
	ctx, w := c.Limits.start(ctx)
	out, err := c.outgoing(ctx)
	if err != nil {
		w.end()
		tied.end()
		return nil, err
	}
	resp, err := c.send(out)
	if err != nil {
		w.end()
		tied.end()
		return nil, c.Faults.Of(w.cause(err), time.Now())
	}
	if c.Retry.Policy.Deadline > 0 {
		resp.Body = &bound{resp.Body, tied}
	}
	w.over(resp)
	return c.judge(resp)
}

// outgoing makes the request for a try: with its context and, from the second
// on, a fresh body. The retry count is set only where the SDK says "0", so that
// a provider sees true counts and no SDK is contradicted.
func (c *call) outgoing(ctx context.Context) (*http.Request, error) {
	if c.sent == 0 {
		if c.plain() {
			return c.req, nil
		}
		return c.req.WithContext(ctx), nil
	}
	out := c.req.WithContext(ctx)
	if c.req.GetBody != nil {
		body, err := c.req.GetBody()
		if err != nil {
			return nil, &fault.Error{Kind: fault.Invalid, Message: "the request's body cannot be read again", Err: err, Rule: "transport/body"}
		}
		out.Body = body
	}
	if len(c.req.Header[retryCount]) > 0 && !resent(c.req) {
		out.Header = c.req.Header.Clone()
		out.Header.Set(retryCount, strconv.Itoa(c.sent))
	}
	return out, nil
}

// errNothing is what a RoundTripper deserves that returns neither.
var errNothing = errors.New("the RoundTripper returned no response and no error")

// send sends a try and gives the response the parts that a RoundTripper may
// have left out.
func (c *call) send(out *http.Request) (*http.Response, error) {
	c.sent++
	resp, err := c.base().RoundTrip(out)
	switch {
	case err != nil && resp != nil && resp.Body != nil:
		_ = resp.Body.Close() // against the rules, but it happens
		return nil, err
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNothing
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Request = c.req // its context is the caller's, that of the try carries the mark of the run
	return resp, nil
}

// judge tells an answer from what is none.
func (c *call) judge(resp *http.Response) (*http.Response, error) {
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		return nil, c.refused(resp)
	case c.dialect == nil || resp.StatusCode != http.StatusOK || encoded(resp.Header):
		return unread(resp), nil
	}
	return c.readAhead(resp)
}

// encoded tells whether a body is not what it says but has to be decoded first.
func encoded(h http.Header) bool {
	coding := h["Content-Encoding"]
	return len(coding) > 0 && !strings.EqualFold(coding[0], "identity")
}

// refused names the fault of a response with an error status. Its body is read
// as far as that takes; one that dawdles is not waited for, since the status
// says enough.
func (c *call) refused(resp *http.Response) error {
	a := &ahead{src: resp.Body}
	late := time.AfterFunc(bodyPatience, func() { _ = a.release() })
	a.fillUp(errorBound)
	late.Stop()
	f := c.Faults.FromResponse(resp.StatusCode, resp.Header, a.buf, time.Now())
	return reject(f, resp, a)
}

// readAhead reads an answer up to its first content and gives the response
// that replays it.
func (c *call) readAhead(resp *http.Response) (*http.Response, error) {
	s := &c.answer
	if c.sent > 1 {
		s = new(stream) // somebody may still hold the first
	}
	s.src, s.dialect, s.faults = resp.Body, c.dialect, c.Faults
	s.fill(aheadBound)
	s.form = c.form(resp, s.buf)
	for s.form == dialect.JSON && s.err == nil && len(s.buf) < len("event:") {
		s.fill(aheadBound)
		s.form = c.form(resp, s.buf)
	}
	if s.form != dialect.JSON {
		if f := s.open(c.Opened); f != nil {
			return nil, reject(f, resp, s)
		}
		resp.Body = s
		return resp, nil
	}
	a := &s.ahead
	if f := c.whole(resp, a); f != nil {
		if len(a.buf) == 0 {
			_ = a.Close()
			return nil, f // nothing to hand on: Ollama's client takes an empty body for an answer, whatever its status
		}
		unmask(resp, f.Kind)
		return nil, reject(f, resp, a)
	}
	resp.Body = a
	return resp, nil
}

// whole reads an answer that is not streamed to its end, since nobody can use
// a part of it: one that breaks off is tried again. One that is too large to
// keep is handed on as it comes.
func (c *call) whole(resp *http.Response, a *ahead) *fault.Error {
	limit := aheadBound
	if !begunJSON(a.buf) {
		limit = errorBound // a page: no answer, and not worth more
	}
	a.fillUp(limit)
	switch {
	case a.err == nil && limit == aheadBound:
		return nil
	case a.err != nil && a.err != io.EOF:
		return c.Faults.Broken(a.err, time.Now())
	}
	switch c.dialect.BodyKind(a.buf) {
	case dialect.Failure:
		return c.Faults.FromResponse(resp.StatusCode, resp.Header, a.buf, time.Now())
	case dialect.Opening:
		return c.Faults.Broken(nil, time.Now())
	}
	a.release() // the connection is free while the answer is being read
	return nil
}

// begunJSON tells whether what has come of a body may be the beginning of an
// object.
func begunJSON(begin []byte) bool {
	for _, c := range begin {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '{'
		}
	}
	return true
}

// form tells how an answer comes, by its type and its first bytes.
func (c *call) form(resp *http.Response, begin []byte) dialect.Form {
	kind := ""
	if k := resp.Header["Content-Type"]; len(k) > 0 {
		kind = k[0]
	}
	return c.dialect.AnswerForm(c.req.URL, kind, begin)
}
