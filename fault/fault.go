// Package fault is the vocabulary of failed calls to language models, the same for every provider.
//
// A failed try becomes an [Error] with a [Kind]; the kind decides whether the same request can pass later.
// Package classify below it decides which kind that is; packages policy, retry, transport and gateway act
// on it.
package fault

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/text"
)

// Error is one failed try, classified.
type Error struct {
	Kind    Kind
	Status  int    `json:",omitzero"` // HTTP status; 0: no response. 200 for an error inside a stream
	Code    string `json:",omitzero"` // the provider's own code, such as "overloaded_error", or a silence's; "": none
	Message string `json:",omitzero"` // the provider's message, bounded and without credentials
	Body    string `json:",omitzero"` // the response or event that has the message, as it came, bounded and without credentials; "": the message is all

	Wait    time.Duration `json:",omitzero"` // how long the provider asks to wait; 0: not stated
	ResetAt time.Time     `json:",omitzero"` // when a spent quota is available again; zero: not stated
	Window  bool          `json:",omitzero"` // a usage window is spent, such as one of five hours, and opens again at ResetAt
	Final   bool          `json:",omitzero"` // the request must not be sent again: x-should-retry: false, or a rule
	GivenUp bool          `json:",omitzero"` // a gateway of this project on the way has tried again as its policy says: Final is set too
	Retries int           `json:",omitzero"` // how many retries in a row are worth it, for a policy that lists the kind; 0: as the policy says

	AtOnce bool `json:",omitzero"` // refused for how many requests were in progress, not for how many were sent in a time
	Images bool `json:",omitzero"` // the model takes no images, or not those of the request

	Doubtful bool   `json:",omitzero"` // a key or a model is refused, which is an error of the provider's where it has just accepted the same
	Doubted  int    `json:",omitzero"` // how many such refusals the call has had: it is worth another try soon, whatever its kind; 0: it is not
	InRow    int    `json:"-"`         // how many tries in a row of the calls that share a breaker have failed since the call's first, in an outage that lasts; 0: none does
	Why      string `json:",omitzero"` // what other tries show about it, in words that follow Error's; "": nothing

	Guessed   bool   `json:",omitzero"` // the kind is inferred from the wording; false: a table, a status or a type states it
	RequestID string `json:",omitzero"` // the provider's id of the request, for its support
	Provider  string `json:",omitzero"` // the provider's name, set by the caller; ""
	Rule      string `json:",omitzero"` // the rule that decided, as "table/row": an explanation, nothing branches on it
	Reason    string `json:",omitzero"` // why that rule decides so: an explanation; "" if its name says it

	Err error `json:"-"` // the cause, such as an SDK's own error; nil: none
}

// The Codes of a Timeout before the first content of an answer: the upstream has taken the request and has said
// nothing for as long as it may.
const (
	Silence   = "silence"    // and no other request of its kind was answered meanwhile
	SilentTry = "silent-try" // others were
)

// Error returns the status and the provider's text: "HTTP 529: Overloaded", or "error in a 200: Overloaded".
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = e.Code
	}
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		text = e.Label()
	}
	if e.Why != "" {
		text += "; " + e.Why
	}
	return e.withStatus(text)
}

// withStatus returns the status followed by a text of the fault.
func (e *Error) withStatus(text string) string {
	if e.Status == 0 || e.Kind == Truncated { // the status came before the answer broke off
		return text
	}
	if e.Status == http.StatusOK {
		return "error in a 200: " + text
	}
	return "HTTP " + strconv.Itoa(e.Status) + ": " + text
}

// Label returns the fault in a few words for a screen. It is Kind.Text, except "network" where there was no
// response at all, that of Quota for every usage window, and "no credit" for an account that opens at no time.
func (e *Error) Label() string {
	switch {
	case e.Kind == Unavailable && e.Status == 0:
		return "network"
	case e.Window:
		return Quota.Text()
	case e.Kind == Quota && e.ResetAt.IsZero() && e.Wait == 0:
		return "no credit"
	}
	return e.Kind.Text()
}

// redactedLimit bounds Redacted, in bytes.
const redactedLimit = 2 << 10

// Redacted returns Error as it may be shown: bounded, valid UTF-8, and without anything that looks like a
// credential.
func (e *Error) Redacted() string { return redact(e.Error()) }

// Verbatim returns the status followed by what the provider sent: "HTTP 529: {"type":"error",…}". It may be shown as
// Redacted may, which it is where there is no more than the message.
func (e *Error) Verbatim() string {
	if e.Body == "" {
		return e.Redacted()
	}
	return redact(e.withStatus(e.Body))
}

// redact returns a text as it may be shown.
func redact(text string) string {
	text = Scrub(text[:min(len(text), 2*redactedLimit)]) // a cut would hide a key's prefix from Scrub
	return strings.ToValidUTF8(text[:min(len(text), redactedLimit)], "")
}

// Shared returns what other processes may know of the fault: what is to be done about it, and some bytes of the
// provider's message, scrubbed. They must have no words of the request but for what [Scrub] finds.
func (e *Error) Shared(message int) *Error {
	if e == nil {
		return nil
	}
	return &Error{
		Kind: e.Kind, Status: e.Status, Code: e.Code, Message: text.Clip(Scrub(e.Message), message),
		Wait: e.Wait, ResetAt: e.ResetAt, Window: e.Window, GivenUp: e.GivenUp, Retries: e.Retries,
	}
}

// WithoutMessage returns the fault without what the provider has said and without its cause: both may quote the
// request. nil stays nil.
func (e *Error) WithoutMessage() *Error {
	if e == nil {
		return nil
	}
	silent := *e
	silent.Message, silent.Body, silent.Err = "", "", nil
	return &silent
}

// ShortCode returns the status, such as "429", where that is informative, and Code otherwise.
func (e *Error) ShortCode() string {
	if e.Status == 0 || e.Status == http.StatusOK || e.Kind == Truncated {
		return e.Code
	}
	return strconv.Itoa(e.Status)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// RetryAfter returns how long the provider asks to wait, counted from now: Wait, or the time until ResetAt.
// It is 0 if the provider stated nothing or the instant has passed.
func (e *Error) RetryAfter(now time.Time) time.Duration {
	if e.Wait > 0 {
		return e.Wait
	}
	if e.ResetAt.IsZero() {
		return 0
	}
	return max(0, e.ResetAt.Sub(now))
}
