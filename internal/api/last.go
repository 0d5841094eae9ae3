package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// FinalStatus returns the status under which a client takes an error for the last word: an agent that would
// send the request again at a 429, a 5xx and the like gets 402 for an empty account and else 400. It is the
// provider's status for everybody else.
func (c Client) FinalStatus(status int, k fault.Kind) int {
	a := c.Program()
	again := status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status == http.StatusConflict || status >= http.StatusInternalServerError
	switch {
	case !again || a == OtherClient:
		return status
	case k != fault.Quota:
		return http.StatusBadRequest
	case c.ReadsWords() || a == VercelSDK || a == QwenCode:
		return http.StatusPaymentRequired
	}
	return status // they know an empty account
}

// AsksAgain reports whether the client is a program that sends a request again by itself after a BrokenEvent. An SDK
// returns the error to its caller.
func (c Client) AsksAgain() bool {
	a := c.Program()
	return a != OtherClient && a != VercelSDK || c.Told == Cline
}

// ReadsWords reports whether a client goes by the words of an error, so that the provider's own body may
// have it send the request again.
func (c Client) ReadsWords() bool {
	a := c.Program()
	return a == Opencode || a == Pi || a == ContinueCLI
}

// FinalBody returns the JSON body of an error that is the last word, under [Client.FinalStatus].
func (a *API) FinalBody(c Client, f *fault.Error, message string) []byte {
	last := a.finalFault(c, f)
	if last != f && a.is.FinalBody != nil {
		if body := a.is.FinalBody(c, message); body != nil {
			return body
		}
	}
	return a.ErrorBody(last, c.finalText(message))
}

// finalFault returns the fault with the kind under which it is the client's last one.
func (a *API) finalFault(c Client, f *fault.Error) *fault.Error {
	if c.Program() != OtherClient && (mayPass(f) || c.finalText(a.is.Errors.kind(f)) != a.is.Errors.kind(f)) {
		return &fault.Error{Kind: fault.Invalid}
	}
	return f
}

// mayPass reports whether the same request may be answered later.
func mayPass(f *fault.Error) bool { return fault.Transient.Has(f.Kind) || f.Kind == fault.Unknown }

// asksAgain are the words on which an agent sends a request again: opencode 1.18.33 (its session/retry.ts), pi
// 0.73.1 and 0.87.1 (utils/retry) and Continue's CLI 1.5.47.
var asksAgain = []string{
	"429", "500", "502", "503", "504", "520", "524",
	"rate increased too quickly", "rate limit", "rate-limit", "rate_limit", "ratelimit", "too many requests", "too_many_requests",
	"overloaded", "unavailable", "exhausted", "internal error", "internal_error", "internalerror", "internal server error",
	"server error", "server_error", "server-error", "servererror", "provider returned error", "provider_returned_error",
	"high demand", "request buffer limit", "you can retry", "please retry", "retry delay",
	"terminated", "fetch failed", "failed to fetch", "network error", "network-error", "network_error", "upstream connect",
	"connection error", "connection refused", "connection lost", "connection reset", "socket connection was closed",
	"socket hang up", "other side closed", "websocket closed", "websocket error", "ended without", "ended before",
	"premature close", "premature end", "aborted", "did not get a response",
	"reset before headers", "getaddrinfo", "enotfound", "eai_again", "econnrefused", "econnreset", "etimedout",
	"timeout", "timed out", "time out", "try your request again", "retry your request",
	"try again later", "try again in", "at capacity",
}

// beginsAskAgain reports whether a text, in lower case, begins with one of those words.
func beginsAskAgain(lower string) bool {
	return slices.ContainsFunc(asksAgain, func(word string) bool { return strings.HasPrefix(lower, word) })
}

// finalText returns a message with which the client does not send the request again. The words stay: an
// invisible word joiner after the first letter keeps them from being found.
func (c Client) finalText(message string) string {
	lower := strings.ToLower(message)
	if !c.ReadsWords() || len(lower) != len(message) {
		return message
	}
	var b strings.Builder
	for i := range len(message) {
		b.WriteByte(message[i])
		if beginsAskAgain(lower[i:]) {
			b.WriteString("\u2060")
		}
	}
	return b.String()
}

// FinalEvent returns the bytes that report a fault in a stream that has begun, in the form in which the
// client takes it for the last word, and whether the connection is cut after them instead of ended. They are
// nil where a form has no place for an error. within is that of [Dialect.ErrorEvent].
func (a *API) FinalEvent(c Client, f Form, e *fault.Error, message string, within bool) (event []byte, cut bool) {
	if f == Events {
		last, text := a.finalFault(c, e), c.finalText(message)
		if a.is.FinalEvent != nil {
			if event, cut = a.is.FinalEvent(c, last, text); event != nil {
				return event, cut
			}
		}
		if c.ReadsWords() {
			return a.ErrorEvent(f, last, text, within), false
		}
	}
	if event := a.ownEvent(c, f, e, message, within); event != nil {
		return event, a.Aborts(f)
	}
	return a.ErrorEvent(f, e, message, within), a.Aborts(f)
}

// BrokenEvent is FinalEvent for a stream that ends through no fault of the request, such as an answer that breaks off
// or the end of the gateway: the client may send the request again.
func (a *API) BrokenEvent(c Client, f Form, e *fault.Error, message string, within bool) (event []byte, cut bool) {
	if f == Events && c.Program() == QwenCode && mayPass(e) {
		return nil, true // it takes any error event for the last word, and a cut for a reason to ask again
	}
	if f == Events && a.is.BrokenEvent != nil {
		if event, cut = a.is.BrokenEvent(c, within, a.ErrorBody(e, message)); cut {
			return event, true
		}
	}
	return a.ErrorEvent(f, e, message, within), a.Aborts(f)
}

// CutsAfterError reports whether the connection is cut, instead of ended, after an error event of the provider's as it
// came. last: it is the client's last word, as in [API.FinalEvent].
func (a *API) CutsAfterError(c Client, f Form, last bool) bool {
	return a.Aborts(f) && !(last && f == Events && c.ReadsWords())
}
