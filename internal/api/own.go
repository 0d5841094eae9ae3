package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ridethrough/ridethrough/fault"
)

// ownEvent returns the error of a provider with a message in place of its own, as an SDK would have got it before the
// stream began: its code, details and request id decide what the SDK does. nil: it is no error that stays, it is not
// whole or in another form, or the client has a last error of its own.
func (a *API) ownEvent(c Client, f Form, e *fault.Error, message string, within bool) []byte {
	p := c.Program()
	if mayPass(e) || p != OtherClient && p != VercelSDK || f == AWSEvents {
		return nil
	}
	body, cause := a.ownError([]byte(e.Body))
	switch {
	case body == nil:
		return nil
	case f == Events && a.is.Errors.Event != nil:
		return []byte(a.is.Errors.Event(cmp.Or(TextOf(cause.Get("code")), TextOf(cause.Get("type")), a.is.Errors.kind(e)), message))
	}
	return a.errorFrame(f, body.Set("error", cause.Set("message", Quote(message)).JSON()).JSON(), within)
}

// ownError returns a body that is a whole error in the form of the API, in one line, and the error in it; nil: it is not.
func (a *API) ownError(text []byte) (body, cause Object) {
	var line bytes.Buffer
	if json.Compact(&line, text) != nil {
		return nil, nil
	}
	body, _ = ParseObject(line.Bytes())
	if cause = body.Child("error"); TextOf(cause.Get("message")) == "" {
		return nil, nil
	}
	form, _ := ParseObject(a.is.Errors.Body("", ""))
	if (form.Get("type") == nil) != (body.Get("type") == nil) || slices.ContainsFunc(form, func(m Field) bool { return body.Get(m.Key) == nil }) {
		return nil, nil // of another API
	}
	return body, cause
}
