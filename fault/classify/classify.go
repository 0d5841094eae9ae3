// Package classify turns a failed try into a [fault.Error]: a response, an error event inside a stream,
// or any Go error.
//
// A [Classifier] asks its judges in order; the first that knows decides: the user's own, then structured
// fields, the status, the connection's error, and last the wording. What errors mean is data, in
// the folder tables; this code says what outweighs what. It has no clock: the caller passes the time in, against
// which it reads reset instants.
package classify

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Judge decides about the evidence of one failed try. It returns false if it does not know.
type Judge func(Evidence) (Ruling, bool)

// Ruling is a judge's decision.
type Ruling struct {
	Kind    fault.Kind
	Rule    string // the rule that decided, as "table/row"; becomes Error.Rule
	Reason  string // why, in one line; "": the kind's own reason; becomes Error.Reason
	Window  bool   // for Quota and Unknown: a wait up to 15 minutes makes it RateLimited, a longer one Quota; see Error.Window
	Guessed bool   // inferred from the wording; becomes Error.Guessed
	Final   bool   // no policy may try again; becomes Error.Final
	AtOnce  bool   // it is about requests in progress; becomes Error.AtOnce
	Images  bool   // it is about the images of the request; becomes Error.Images
	Retries int    // how many retries are worth it; becomes Error.Retries
	Sure    int    // how much the text that decided proves, in percent; 0: no text decided

	Wait time.Duration // how long to wait, in place of what the provider says; 0: what it says
}

// Classifier classifies failed tries. The zero value works. It is safe for concurrent use if its judges are.
type Classifier struct {
	Judges   []Judge // asked first, in order; the first that knows decides; nil: none
	Provider string  // Evidence.Provider for the judges; "": not known
}

// FromResponse classifies a response that is not an answer: a status of 400 and above, or a 200 whose whole
// body is an error or a web page. The caller decides that it is one; the result is never nil. Only the
// first 64 KiB of the body are read; body and header are not retained.
func FromResponse(status int, header http.Header, body []byte, now time.Time) *fault.Error {
	return Classifier{}.FromResponse(status, header, body, now)
}

// FromEvent classifies an error event inside a stream that began with 200: the text of a server-sent event
// ("event: error\ndata: {…}"), its data alone, or a line of NDJSON. The caller decides that the event is an
// error; the result is never nil. Status is 200 unless the event states its own.
func FromEvent(event []byte, now time.Time) *fault.Error { return Classifier{}.FromEvent(event, now) }

// Of classifies any Go error. It returns a *fault.Error in the chain as it is, and nil for nil.
//
// Of cannot know what ended a context: with [context.WithCancelCause] net/http returns the caller's cause,
// which may be any error, and the caller's deadline looks like a limit of this program. The owner of the
// context therefore checks it first and passes Of only what is left: then context.Canceled is Canceled, and
// context.DeadlineExceeded is a Timeout.
func Of(err error, now time.Time) *fault.Error { return Classifier{}.Of(err, now) }

// Broken classifies the end of an answer that had begun with 200. A broken connection is Truncated, and so
// is a nil error: an answer without its terminator. A canceled call, a limit of this program and an error
// that is already classified keep their kind.
func Broken(err error, now time.Time) *fault.Error { return Classifier{}.Broken(err, now) }

// FromResponse is like the function [FromResponse], with the classifier's judges.
func (c Classifier) FromResponse(status int, header http.Header, body []byte, now time.Time) *fault.Error {
	return c.Classify(Response(status, header, body, now))
}

// FromPartialResponse classifies a response whose body broke off: what is left of it counts as for
// FromResponse, but a status such as 400, which leaves the reason to the body, is not final, since the reason
// may be in the part that is lost.
func (c Classifier) FromPartialResponse(status int, header http.Header, body []byte, now time.Time) *fault.Error {
	e := Response(status, header, body, now)
	e.partial = true
	return c.Classify(e)
}

// FromEvent is like the function [FromEvent], with the classifier's judges.
func (c Classifier) FromEvent(event []byte, now time.Time) *fault.Error {
	return c.Classify(Event(event, now))
}

// Of is like the function [Of], with the classifier's judges.
func (c Classifier) Of(err error, now time.Time) *fault.Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	return c.Classify(Failure(err, now))
}

// Broken is like the function [Broken], with the classifier's judges.
func (c Classifier) Broken(err error, now time.Time) *fault.Error {
	if err == nil {
		return &fault.Error{Kind: fault.Truncated, Status: http.StatusOK, Message: "the answer broke off: it ended without its terminator", Rule: "stream/unterminated"}
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	f := c.Of(err, now)
	if connectionKinds.Has(f.Kind) {
		f.Kind, f.Guessed, f.Status, f.Rule, f.Reason = fault.Truncated, false, http.StatusOK, "stream/broken", ""
		f.Message = "the answer broke off: " + f.Message
	}
	return f
}

// connectionKinds are the kinds of error that only mean that a connection has ended.
const connectionKinds fault.Set = 1<<fault.Unavailable | 1<<fault.UpstreamTimeout | 1<<fault.Unknown

// GatewayStop is the header in which a gateway of this project says why it has not tried the request again, in the
// words of policy.Stop with hyphens, such as "over-budget". Its word is final: the retries are its own.
const GatewayStop = "X-Ridethrough-Stop"

// judges run in this order; the first that knows decides. Names and statuses with one meaning come before
// texts. Broad names come after them, because a text can be more precise; then the words in unknown names;
// then what says least.
var judges = [...]Judge{judgeContext, judgeName, judgePlainStatus, judgeConnection, judgeText, judgeBroadName, judgeNameText, judgeStatus, judgeFailureText}

// Classify makes a fault of evidence, which is that of a failed try; the result is never nil.
func (c Classifier) Classify(e Evidence) *fault.Error {
	r, own := c.decide(e)
	stop := e.Header.Get(GatewayStop)
	f := &fault.Error{
		Kind: r.Kind, Guessed: r.Guessed, Rule: r.Rule, Reason: r.Reason, Err: e.Err,
		Status: e.faultStatus(), Code: e.code(), Message: e.message(), Body: e.body(), RequestID: e.requestID(),
		Wait: e.hint.wait, ResetAt: e.hint.at,
		GivenUp: stop != "" && stop != "final", AtOnce: r.AtOnce, Images: r.Images, Retries: r.Retries,
	}
	if !own && f.Retries == 0 && f.Kind == fault.Unknown && f.Status == http.StatusConflict {
		f.Retries = conflictRetries
	}
	if r.Wait > 0 {
		f.Wait, f.ResetAt = r.Wait, time.Time{}
	}
	if !own {
		applyQuotaThreshold(f, r, e.Now)
	} else if r.Window {
		setWindow(f, e.Now)
	}
	f.Final = r.Final || stop != "" || e.Header.Get("X-Should-Retry") == "false" && r.Wait == 0 && !f.Window
	f.Reason = cmp.Or(f.Reason, words().reasons[f.Kind])
	f.Doubtful = !own && e.refusesKnown(f.Kind)
	return f
}

// refusesKnown reports whether a fault refuses a key or a model without a reason that lasts: a key that has expired stays
// refused.
func (e Evidence) refusesKnown(k fault.Kind) bool {
	switch {
	case k == fault.Auth:
		return !e.mentions(words().expired...)
	case k == fault.Invalid && e.innermostStatus() == http.StatusNotFound:
		return e.mentions("model")
	}
	return false
}

// mentions reports whether a name or a text of an error contains one of some words.
func (e Evidence) mentions(words ...string) bool {
	return slices.ContainsFunc(e.Layers, func(l Layer) bool {
		return containsAny(strings.ToLower(l.Code+" "+l.Type+" "+l.Reason), words...) || containsAny(l.folded, words...)
	})
}

// conflictRetries is how often a 409 is tried again: as often as the vendors' SDKs do. What is in conflict has
// either passed by then, or does not pass.
const conflictRetries = 2

// decide asks the user's judges and then the built-in ones; own reports whether one of the user's decided.
func (c Classifier) decide(e Evidence) (r Ruling, own bool) {
	e.Provider = cmp.Or(e.Provider, c.Provider)
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
	if e.hint != (hint{}) && e.innermostStatus() < 400 {
		return Ruling{Kind: fault.RateLimited, Rule: "wait/stated", Reason: "it says when to ask again", Guessed: true}, false
	}
	return Ruling{Kind: fault.Unknown, Rule: "unknown"}, false
}

// quotaThreshold divides RateLimited from Quota: a throttle with a longer stated wait is a spent window,
// and a spent window that opens sooner is a throttle, whatever the provider calls it.
const quotaThreshold = 15 * time.Minute

// applyQuotaThreshold changes the kind of a fault according to its stated wait. One that opens sooner remains a
// usage window only where a name or a header says so, or it takes minutes: texts call a limit daily that lets the
// next request pass in seconds.
func applyQuotaThreshold(f *fault.Error, r Ruling, now time.Time) {
	wait := f.RetryAfter(now)
	if f.Kind == fault.Quota && r.Window && (r.Sure == 0 || wait > time.Minute) {
		setWindow(f, now)
		wait = f.RetryAfter(now)
	}
	switch {
	case (f.Kind == fault.RateLimited || f.Kind == fault.Unknown && r.Window) && wait > quotaThreshold:
		f.Kind = fault.Quota
		setWindow(f, now)
	case (f.Kind == fault.Quota || f.Kind == fault.Unknown) && r.Window && wait > 0 && wait <= quotaThreshold:
		f.Kind = fault.RateLimited
	}
	if f.Kind == fault.Quota && f.Wait > 0 && f.ResetAt.IsZero() {
		f.ResetAt = now.Add(f.Wait)
	}
}

// setWindow marks a fault with a stated reset as that of a usage window. Where two resets contradict each other,
// the sooner one counts: at worst it costs a request.
func setWindow(f *fault.Error, now time.Time) {
	wait := f.RetryAfter(now)
	if wait == 0 {
		return
	}
	if other := f.ResetAt.Sub(now); f.Wait > 0 && other > 0 && other < wait {
		wait, f.Wait = other, other
	}
	f.Window, f.ResetAt = true, now.Add(wait)
}
