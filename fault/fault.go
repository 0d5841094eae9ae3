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
)

// Error is one failed try, classified.
type Error struct {
	Kind    Kind
	Status  int    // HTTP status; 0: there was no answer. 200 for an error inside a stream
	Code    string // the provider's own word, such as "overloaded_error"; "" if it gave none
	Message string // the provider's sentence, bounded and scrubbed of credentials

	Wait    time.Duration // how long the provider asks us to wait; 0: it did not say
	ResetAt time.Time     // when a spent window opens again; zero: it did not say
	Final   bool          // this request must not be sent again: the provider says so (x-should-retry: false), or a rule does

	Guessed   bool   // the kind is inferred from words near each other; false: a table, a status or an error type states it
	RequestID string // the provider's id of the request, for its support
	Provider  string // who said it, where the caller knows; ""
	Rule      string // the rule that decided, as "table/row": an explanation, nothing branches on it
	Reason    string // why that rule decides so: an explanation; "" if its name says it

	Err error // the cause, such as an SDK's own error; nil: none
}

// Error gives the status and the provider's words: "HTTP 529: Overloaded", or
// "error in a 200: Overloaded".
func (e *Error) Error() string {
	words := e.Message
	if words == "" {
		words = e.Code
	}
	if words == "" && e.Err != nil {
		words = e.Err.Error()
	}
	if words == "" {
		words = e.Label()
	}
	if e.Status == 0 || e.Kind == Truncated { // a broken answer's status says nothing
		return words
	}
	if e.Status == http.StatusOK {
		return "error in a 200: " + words
	}
	return "HTTP " + strconv.Itoa(e.Status) + ": " + words
}

// Label gives the fault in the plain words that people see. It differs from
// the kind's words where there was no answer at all: "network".
func (e *Error) Label() string {
	if e.Kind == Unavailable && e.Status == 0 {
		return "network"
	}
	return e.Kind.Text()
}

// shownBound is how much of a provider's words is shown, in bytes.
const shownBound = 2 << 10

// Redacted gives Error as people may see it: bounded, in valid UTF-8, and without
// what looks like a credential.
func (e *Error) Redacted() string {
	words := e.Error()
	words = Scrub(words[:min(len(words), 2*shownBound)]) // a key must not be cut in two first
	return strings.ToValidUTF8(words[:min(len(words), shownBound)], "")
}

// ShortCode gives the fault in one word: the status, such as "429", where that says
// something, and the provider's own word otherwise.
func (e *Error) ShortCode() string {
	if e.Status == 0 || e.Status == http.StatusOK || e.Kind == Truncated {
		return e.Code
	}
	return strconv.Itoa(e.Status)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// RetryAfter gives how long the provider asks us to wait, counted from now: Wait, or
// the time until ResetAt. It is 0 where the provider said nothing or the
// instant has passed.
func (e *Error) RetryAfter(now time.Time) time.Duration {
	if e.Wait > 0 {
		return e.Wait
	}
	if e.ResetAt.IsZero() {
		return 0
	}
	return max(0, e.ResetAt.Sub(now))
}
