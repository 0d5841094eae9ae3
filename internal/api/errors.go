package api

import (
	"bytes"
	"cmp"
	"net/http"

	"github.com/ridethrough/ridethrough/fault"
)

// ErrorFormat is how an API writes an error.
type ErrorFormat struct {
	Body      func(kind, message string) []byte
	Header    string                            // in which its type is too; "": none
	Frame     func(body []byte) string          // the event that has the body; nil: one without a name
	Event     func(kind, message string) string // an event in a form of its own; nil: the body is in it
	Exception func(kind, message string) []byte // in an AWS stream; nil: it has none
	Types     map[fault.Kind]string             // the provider's name for each kind
	Other     string                            // its name for the transient kinds and all others
	Limit     string                            // its name for a limit of the client's, in place of an answer; "": that of fault.RateLimited
}

func (e *ErrorFormat) kind(f *fault.Error) string {
	if kind := e.Types[f.Kind]; kind != "" {
		return kind
	}
	return e.Other
}

// ErrorBody returns the JSON body that reports a fault in place of an answer.
func (a *API) ErrorBody(f *fault.Error, message string) []byte {
	return a.is.Errors.Body(a.is.Errors.kind(f), message)
}

// LimitBody returns the JSON body of a 429 that asks the client to send its request later.
func (a *API) LimitBody(message string) []byte {
	return a.is.Errors.Body(cmp.Or(a.is.Errors.Limit, a.is.Errors.kind(&fault.Error{Kind: fault.RateLimited})), message)
}

// SetErrorHeader sets the header in which the API repeats the type of an error with this body, if it has one.
func (a *API) SetErrorHeader(h http.Header, body []byte) {
	if kind := bytes.Trim(Member(body, "__type"), `"`); a.is.Errors.Header != "" && len(kind) > 0 {
		h.Set(a.is.Errors.Header, string(kind))
	}
}

// ErrorEvent returns the bytes that report a fault inside a stream that has begun, in the provider's own
// form with the given message; nil: a JSON body has no place for one. within means that frames of the
// answer have been sent, which matters in an array.
func (a *API) ErrorEvent(f Form, e *fault.Error, message string, within bool) []byte {
	if f == Events && a.is.Errors.Event != nil {
		return []byte(a.is.Errors.Event(a.is.Errors.kind(e), message))
	}
	if f == AWSEvents {
		return a.is.Errors.Exception(a.is.Errors.kind(e), message)
	}
	return a.errorFrame(f, a.ErrorBody(e, message), within)
}

// errorFrame returns the frame of a stream that has the JSON of an error; nil: a JSON body has no place for one.
func (a *API) errorFrame(f Form, body []byte, within bool) []byte {
	switch {
	case f == JSON:
		return nil
	case f == Lines:
		return append(body, '\n')
	case f == Array && within:
		return append(append([]byte(",\n"), body...), "]\n"...)
	case f == Array:
		return append(append([]byte("["), body...), "]\n"...)
	case a.is.Errors.Frame != nil:
		return []byte(a.is.Errors.Frame(body))
	}
	return []byte("data: " + string(body) + "\n\n")
}

// Aborts reports how a stream ends after its ErrorEvent: true, the connection is cut, because a clean end
// would be taken for a whole answer; false, it ends. A JSON body, which has no place for an error, is cut.
func (a *API) Aborts(f Form) bool {
	return f == JSON || f == Array || f == Events && a.is.AbortsOnError
}
