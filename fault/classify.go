package fault

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Judge looks at the evidence of one failed try and rules on it, or answers
// false: it does not know.
type Judge func(Evidence) (Ruling, bool)

// Ruling is what a judge has decided.
type Ruling struct {
	Kind Kind
	Rule string // the name of the rule, as "file/row"
}

// Evidence is all that is known about one failed try.
type Evidence struct {
	Status int         // HTTP status; 0: there was no answer
	Header http.Header // nil: none
	Body   []byte      // the first 64 KiB of the body or event
	Event  bool        // it came inside a stream that had begun with 200
	Err    error       // nil: there was an answer
	Now    time.Time
}

// Classifier names faults. The zero Classifier works.
type Classifier struct {
	Judges []Judge // asked before the built-in ones, in order; nil: none
}

// FromResponse names a response that is not an answer; it is never nil.
func FromResponse(status int, header http.Header, body []byte, now time.Time) *Error {
	return Classifier{}.FromResponse(status, header, body, now)
}

// FromEvent names an error event inside a stream; it is never nil.
func FromEvent(event []byte, now time.Time) *Error { return Classifier{}.FromEvent(event, now) }

// Of names any Go error; nil gives nil.
func Of(err error, now time.Time) *Error { return Classifier{}.Of(err, now) }

// FromResponse is the function of that name, with the classifier's judges.
func (c Classifier) FromResponse(status int, header http.Header, body []byte, now time.Time) *Error {
	kind := Unknown
	switch {
	case status == 429:
		kind = RateLimited
	case status >= 500:
		kind = Unavailable
	case status >= 400:
		kind = Invalid
	}
	return &Error{Kind: kind, Status: status}
}

// FromEvent is the function of that name, with the classifier's judges.
func (c Classifier) FromEvent(event []byte, now time.Time) *Error {
	return &Error{Kind: Unknown, Status: 200}
}

// Of is the function of that name, with the classifier's judges.
func (c Classifier) Of(err error, now time.Time) *Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Kind: Canceled, Err: err}
	}
	return &Error{Kind: Unknown, Err: err}
}
