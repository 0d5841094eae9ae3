package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/sse"
)

// ErrorEvent returns the fault of an error event inside a stream, for ask to return: the event's text or
// its data, as for classify.FromEvent, and an SDK's error; nil: a [ResponseError] with the event. Where the
// response itself is an error, that one is returned.
func (c *Call) ErrorEvent(event []byte, err error) error {
	w := &c.observed
	switch {
	case err != nil && w.status >= http.StatusMultipleChoices:
		return err
	case err == nil && c.isErrorBody():
		return w.responseError(w.body)
	}
	f := c.faults.FromEvent(event, time.Now())
	if f.Err = err; err == nil {
		f.Err = w.responseError(event)
	}
	return f
}

// fault returns the fault of a failed call. err is the client's error; nil: none, although the end is missing.
func (c *Call) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f, known := errors.AsType[*fault.Error](err)
	if !known {
		f, known = errors.AsType[*fault.Error](c.observed.err)
	}
	if !known {
		f = c.classify(err)
	}
	signed := *f // a fault that is known already may be shared
	if signed.Provider == "" {
		signed.Provider = c.by.Provider
	}
	if _, stated := errors.AsType[*ResponseError](signed.Err); err != nil && !known && !stated {
		signed.Err = err
	}
	if signed.Message == "" && signed.Code == "" { // else the client's text would be shown, which may contain the URL
		signed.Message = http.StatusText(signed.Status)
	}
	return &signed
}

// classify classifies an error that has not been classified yet.
func (c *Call) classify(err error) *fault.Error {
	now := time.Now()
	w := &c.observed
	switch {
	case w.status == 0 && err != nil:
		f := c.faults.Of(err, now)
		if !w.sent && f.Kind == fault.Unknown { // a request that the client would not even send fails again
			f.Kind, f.Guessed, f.Rule, f.Reason = fault.Invalid, false, "provider/unsent", "the request was not sent"
		}
		return f
	case w.status >= http.StatusMultipleChoices:
		return c.faults.FromResponse(w.status, w.header, w.body, now)
	case c.isErrorBody():
		f := c.faults.FromResponse(w.status, w.header, w.body, now)
		f.Err = w.responseError(w.body)
		return f
	case w.err != nil && w.err != io.EOF:
		return c.faults.Broken(w.err, now)
	}
	return c.faults.Broken(nil, now) // the client's text is not the provider's, and may quote the answer
}

// isErrorBody reports whether the body of a response with success, whole or not, is no answer: an error, a page, a
// proxy's text.
func (c *Call) isErrorBody() bool {
	w := &c.observed
	if w.status == 0 || c.hasContent || sse.Begins(bytes.TrimSpace(w.body)) { // a stream with another content type
		return false
	}
	return openai.Chat().BodyKind(w.body) == api.Failure // the same in every dialect
}

// responseError returns the response as an error, with its body or an event of it.
func (w *observation) responseError(text []byte) *ResponseError {
	return &ResponseError{w.status, w.header, bytes.Clone(text[:min(len(text), bodyBound)])}
}
