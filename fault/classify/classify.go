// Package classify turns a failed try into a [fault.Error]: a response, an error event inside a stream,
// or any Go error.
//
// A [Classifier] asks its judges in order; the first that knows decides: the user's own, then structured
// fields, the status, the connection's error, and last the wording. What each vendor's errors mean is in
// one table per vendor, each in a file of its own, which is why the package has so many files. It has no
// clock: the caller passes the time in, against which it reads reset instants.
package classify

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Judge looks at the evidence of one failed try and rules on it, or answers
// false: it does not know.
type Judge func(Evidence) (Ruling, bool)

// Ruling is what a judge has decided, and why.
type Ruling struct {
	Kind    fault.Kind
	Rule    string // the name of the rule, as "file/row"; it becomes Error.Rule
	Reason  string // one line for people who ask why; "" is fine; it becomes Error.Reason
	Window  bool   // for Quota and Unknown: a window may be spent; a stated wait tells: a rate limit up to 15 minutes, above a Quota
	Guessed bool   // inferred from the wording; it becomes Error.Guessed
	Final   bool   // no policy should try again, whatever it lists; it becomes Error.Final
}

// Classifier names faults. The zero Classifier works; it may be used by many
// goroutines at once if its judges may.
type Classifier struct {
	Judges []Judge // asked first, in order; the first that knows decides, as it says; nil: none
}

// FromResponse names a response that is not an answer: a status of 400 and
// above, or a 200 whose whole body is an error or a web page. It takes the
// caller's word for that and is never nil. Only the first 64 KiB of the body
// are looked at; body and header are not kept.
func FromResponse(status int, header http.Header, body []byte, now time.Time) *fault.Error {
	return Classifier{}.FromResponse(status, header, body, now)
}

// FromEvent names an error event inside a stream that began with 200: the text
// of a server-sent event ("event: error\ndata: {…}"), its data alone, or a line
// of NDJSON. It takes the caller's word that the event is an error and is never
// nil. Status is 200 unless the event states its own.
func FromEvent(event []byte, now time.Time) *fault.Error { return Classifier{}.FromEvent(event, now) }

// Of names any Go error. An *Error in the chain is returned as it is; nil gives
// nil.
//
// Of cannot tell who ended a context: with [context.WithCancelCause] net/http
// returns the caller's cause, which may be any error, and a deadline of the
// caller looks like one of ours. Whoever owns the context looks at it first and
// asks Of only about what is left: then context.Canceled is Canceled, and
// context.DeadlineExceeded is a Timeout, a limit of ours.
func Of(err error, now time.Time) *fault.Error { return Classifier{}.Of(err, now) }

// Broken names the end of an answer that had begun with 200: a connection that
// broke, or with a nil error an answer without its terminator, is Truncated. The
// caller leaving, a limit of ours and an error that is named already stay what
// they are.
func Broken(err error, now time.Time) *fault.Error { return Classifier{}.Broken(err, now) }

// FromResponse is the function of that name, with the classifier's judges.
func (c Classifier) FromResponse(status int, header http.Header, body []byte, now time.Time) *fault.Error {
	return c.name(respond(status, header, body, now))
}

// FromEvent is the function of that name, with the classifier's judges.
func (c Classifier) FromEvent(event []byte, now time.Time) *fault.Error {
	return c.name(overhear(event, now))
}

// Of is the function of that name, with the classifier's judges.
func (c Classifier) Of(err error, now time.Time) *fault.Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	return c.name(catch(err, now))
}

// Broken is the function of that name, with the classifier's judges.
func (c Classifier) Broken(err error, now time.Time) *fault.Error {
	if err == nil {
		return &fault.Error{Kind: fault.Truncated, Status: http.StatusOK, Message: "the answer broke off: it ended without its terminator", Rule: "stream/unterminated"}
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	f := c.Of(err, now)
	if breaks.Has(f.Kind) {
		f.Kind, f.Guessed, f.Status, f.Rule, f.Reason = fault.Truncated, false, http.StatusOK, "stream/broken", ""
		f.Message = "the answer broke off: " + f.Message
	}
	return f
}

// breaks are the kinds of error that only say that a connection has ended.
const breaks fault.Set = 1<<fault.Unavailable | 1<<fault.UpstreamTimeout | 1<<fault.Unknown

// judges run in this order and the first that knows decides. Names and
// statuses that mean one thing come before sentences; those that only name a
// family come after, because a sentence can make them more precise; then
// names that no table has, for the words in them, and what says least.
var judges = [...]Judge{gone, named, plainStatus, connection, worded, family, spelled, anyStatus, failed}

// name turns evidence into a fault.
func (c Classifier) name(e Evidence) *fault.Error {
	r, own := c.rule(e)
	f := &fault.Error{
		Kind: r.Kind, Guessed: r.Guessed, Rule: r.Rule, Reason: r.Reason, Err: e.Err,
		Status: e.stated(), Code: e.code(), Message: e.sentence(), RequestID: e.requestID(),
		Wait: e.hint.wait, ResetAt: e.hint.at,
		Final: r.Final || e.Header.Get("X-Should-Retry") == "false",
	}
	if !own {
		drawLine(f, r.Window, e.Now)
	}
	f.Reason = cmp.Or(f.Reason, reasons[f.Kind])
	return f
}

// rule asks the user's judges and then the built-in ones; own tells that the
// user's decided.
func (c Classifier) rule(e Evidence) (r Ruling, own bool) {
	for _, judge := range c.Judges {
		if r, ok := judge(e); ok {
			return r, true
		}
	}
	for _, judge := range judges {
		if r, ok := judge(e); ok {
			return r, false
		}
	}
	return Ruling{Kind: fault.Unknown, Rule: "unknown"}, false
}

// line divides what passes by itself from what does not: a throttle that asks
// for more than this is a spent window, and a spent window that opens within it
// is a throttle, whatever the provider calls it.
const line = 15 * time.Minute

// drawLine applies the 15-minute line to a fault.
func drawLine(f *fault.Error, window bool, now time.Time) {
	wait := f.RetryAfter(now)
	switch {
	case (f.Kind == fault.RateLimited || f.Kind == fault.Unknown && window) && wait > line:
		f.Kind = fault.Quota
	case (f.Kind == fault.Quota || f.Kind == fault.Unknown) && window && wait > 0 && wait <= line:
		f.Kind = fault.RateLimited
	}
	if f.Kind == fault.Quota && f.Wait > 0 && f.ResetAt.IsZero() {
		f.ResetAt = now.Add(f.Wait)
	}
}

// reasons explain the kinds whose rule has no reason of its own: a name such as
// "overloaded_error" says what it means.
var reasons = map[fault.Kind]string{
	fault.Unknown:         "no rule knows it",
	fault.RateLimited:     "too many requests or tokens for now",
	fault.Overloaded:      "nobody is free to answer",
	fault.Unavailable:     "something at the provider or on the way to it broke",
	fault.Truncated:       "the answer broke off",
	fault.UpstreamTimeout: "the provider or the network took too long",
	fault.Timeout:         "a limit of ours expired",
	fault.Quota:           "the account or a long window is spent",
	fault.Auth:            "the credentials are refused",
	fault.Invalid:         "the same request fails again",
	fault.Refused:         "policy, place or plan forbid it",
	fault.TooLong:         "it does not fit and has to be made smaller",
	fault.Canceled:        "the caller has left",
}
