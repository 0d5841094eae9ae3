package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/fault"
)

// try sends the request once. A response comes back only if it is an answer:
// what fails before the first content is an error.
func (t *Transport) try(ctx context.Context, req *http.Request, d *dialect.Dialect, n int) (*http.Response, error) {
	if t.Engine.Policy.Wall == 0 {
		return t.exchange(ctx, req, d, n)
	}
	ctx, bond := tie(ctx, req.Context())
	resp, err := t.exchange(ctx, req, d, n)
	kept := resp
	if r, ok := errors.AsType[*rejection](err); ok {
		kept = r.resp
	}
	if kept == nil {
		bond.end()
		return nil, err
	}
	bond.try()
	kept.Body = &bound{kept.Body, bond}
	return resp, err
}

// exchange sends the request and reads ahead to the first content.
func (t *Transport) exchange(ctx context.Context, req *http.Request, d *dialect.Dialect, n int) (*http.Response, error) {
	out, err := t.outgoing(ctx, req, n)
	if err != nil {
		return nil, err
	}
	resp, err := t.base().RoundTrip(out)
	if err != nil {
		return nil, t.Faults.Of(err, time.Now())
	}
	complete(resp)
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		return nil, t.refused(resp)
	case d == nil || resp.StatusCode != http.StatusOK || len(resp.Header["Content-Encoding"]) > 0:
		return resp, nil
	}
	return t.readAhead(resp, d)
}

// complete gives a response the parts that a RoundTripper may have left out.
func complete(resp *http.Response) {
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
}

// refused names the fault of a response with an error status. Its body is read
// as far as that takes; one that stalls is not waited for.
func (t *Transport) refused(resp *http.Response) error {
	a := &ahead{src: resp.Body}
	stalled := time.AfterFunc(bodyPatience, func() { a.Close() })
	defer stalled.Stop()
	a.fillUp(errorBound)
	f := t.Faults.FromResponse(resp.StatusCode, resp.Header, a.buf, time.Now())
	return reject(f, resp, a)
}

// readAhead reads an answer up to its first content and gives the response
// that replays it.
func (t *Transport) readAhead(resp *http.Response, d *dialect.Dialect) (*http.Response, error) {
	a := &ahead{src: resp.Body}
	a.fill(aheadBound)
	if streams(resp.Header, a.buf) {
		s := &stream{ahead: a, dialect: d, faults: t.Faults}
		if f := s.open(); f != nil {
			return nil, reject(f, resp, s)
		}
		resp.Body = s
		return resp, nil
	}
	if f := t.whole(resp, d, a); f != nil {
		unmask(resp, f.Kind)
		return nil, reject(f, resp, a)
	}
	resp.Body = a
	return resp, nil
}

// whole reads an answer that is not streamed to its end, since nobody can use
// a part of it: one that breaks off is tried again. One that is too large to
// keep is handed on as it comes.
func (t *Transport) whole(resp *http.Response, d *dialect.Dialect, a *ahead) *fault.Error {
	a.fillUp(aheadBound)
	switch {
	case a.err == nil:
		return nil
	case a.err != io.EOF:
		return t.Faults.Broken(a.err, time.Now())
	}
	switch d.Whole(a.buf) {
	case dialect.Failure:
		return t.Faults.FromResponse(resp.StatusCode, resp.Header, a.buf, time.Now())
	case dialect.Opening:
		return t.Faults.Broken(nil, time.Now())
	}
	a.Close() // the connection is free while the answer is being read
	return nil
}

// streams tells whether a body is a stream of server-sent events, by its type
// or, since relays get that wrong, by its first bytes.
func streams(h http.Header, begin []byte) bool {
	const events = "text/event-stream"
	for _, kind := range h["Content-Type"] {
		if len(kind) >= len(events) && strings.EqualFold(kind[:len(events)], events) {
			return true
		}
	}
	return bytes.HasPrefix(begin, []byte("data:")) || bytes.HasPrefix(begin, []byte("event:")) || bytes.HasPrefix(begin, []byte(":"))
}
