package api

import (
	"cmp"
	"encoding/json"

	"github.com/ridethrough/ridethrough/fault"
)

// ownEvent returns the error of a provider with a message in place of its own, as an SDK would have got it before the
// stream began: its code, details and request id decide what the SDK does. nil: it is no error that stays, it is not
// whole or in another form, or the client has a last error of its own.
func (a *API) ownEvent(c Client, f Form, e *fault.Error, message string, within bool) []byte {
	p := c.Program()
	passes := fault.Transient.Has(e.Kind) || e.Kind == fault.Unknown
	if passes || p != OtherClient && p != VercelSDK || f == AWSEvents {
		return nil
	}
	body, cause := a.ownError([]byte(e.Body))
	switch {
	case body == nil:
		return nil
	case f == Events && a.is.Errors.Event != nil:
		var named struct{ Code, Type any }
		_ = json.Unmarshal(body["error"], &named) // it has been read
		code, _ := named.Code.(string)
		kind, _ := named.Type.(string)
		return []byte(a.is.Errors.Event(cmp.Or(code, kind, a.is.Errors.kind(e)), message))
	}
	cause["message"], _ = json.Marshal(message) // of a string: it can be encoded
	body["error"], _ = json.Marshal(cause)
	text, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	return a.errorFrame(f, text, within)
}

// ownError returns the members of a body that is a whole error in the form of the API, and of the error in it; nil: it
// is not.
func (a *API) ownError(text []byte) (body, cause map[string]json.RawMessage) {
	if json.Unmarshal(text, &body) != nil || json.Unmarshal(body["error"], &cause) != nil {
		return nil, nil
	}
	var message string
	if json.Unmarshal(cause["message"], &message) != nil || message == "" {
		return nil, nil
	}
	for name := range Members(a.is.Errors.Body("", "")) {
		if body[string(name)] == nil {
			return nil, nil // of another API
		}
	}
	return body, cause
}
