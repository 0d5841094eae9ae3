// Package transport is an [http.RoundTripper] that makes somebody else's SDK
// ride through its provider's outages: put a [Transport] under the SDK's
// http.Client and a request for an answer is tried again, before its first
// content only, as the policy says.
//
// It reads ahead in an answer up to the first content, so that an error inside
// a 200 or behind a role chunk is found while the caller has seen nothing, and
// replays the bytes unchanged. When it gives up it hands on the provider's own
// response with X-Should-Retry: false, so that the SDK does not start over.
package transport

import (
	"errors"
	"net/http"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/retry"
)

// Headers of the SDKs made by Stainless (OpenAI's and Anthropic's).
const (
	shouldRetry = "X-Should-Retry"          // of a response: "false" ends the SDK's own retries
	retryCount  = "X-Stainless-Retry-Count" // of a request: how often the SDK has retried it
	idempotency = "Idempotency-Key"         // of a request: the server tells repetitions by it
)

// Transport sends requests and tries them again. The zero Transport sends
// each request once. It may be used by many goroutines at the same time if its
// parts may, and must not be changed meanwhile.
//
// A request is tried again if it asks for an answer or changes nothing (package
// dialect), or if it carries an Idempotency-Key. It is sent once, and
// its outcome handed on as it is, if its body cannot be had again (GetBody is
// nil), if a run of package retry is under way above, or if the SDK above says
// that it is retrying already.
//
// The policy's Wall bounds the time to the first content, not the answer; Limits
// bounds the silence of a try in both.
type Transport struct {
	Base   http.RoundTripper   // sends one try; nil: http.DefaultTransport
	Retry  retry.Retrier       // when to try again and who is told; zero: never, nobody
	Faults classify.Classifier // names the faults; zero: the built-in rules
	Limits Limits              // on each try; zero: none

	// Breakers lets the requests of one host share its outages: one of them finds out
	// whether it is back, and all go on when it is. Several transports may have the
	// same. nil: each request waits by itself, or at Engine.Gate.
	Breakers *breaker.Set

	// Opened is told that a try's answer has begun to stream and that its first
	// content, which may take minutes, has not come; nil: nobody. What has come is
	// kept back: the caller sees none of the provider's own signs of life, and
	// whoever stands before a client of his own has to see to it.
	Opened func()

	// Resent says that requests which an SDK is sending again are decided about
	// like any other. That is for a gateway: its client's last request may have
	// ended with the gateway's last process. False: they are sent once.
	Resent bool
}

// RoundTrip sends the request until it is answered, the policy says stop, or
// the request's context is done. It then returns context.Cause of that
// context. A failure comes back as the last response with X-Should-Retry:
// false added, or, where there was none, as a 503 with the reason in its body:
// an error would make the SDKs start over. Where an error that is no stream
// came with status 200, it gets the status that it should have had.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	d := dialect.Of(req.Method, req.URL.Path)
	if !t.decides(req, d) {
		return t.once(req)
	}
	c := call{Transport: t, req: req, dialect: d}
	engine := t.Retry
	if t.Breakers != nil && engine.Breaker == nil {
		place := t.place(req, d)
		defer place.Close()
		engine.Breaker = place
	}
	resp, err := retry.Do(req.Context(), engine, c.try)
	if c.sent == 0 && req.Body != nil {
		_ = req.Body.Close() // nobody else will
	}
	if err == nil {
		return resp, nil
	}
	spent, ok := errors.AsType[*retry.Error](err)
	if !ok || spent.Last == nil {
		return nil, err
	}
	if r, ok := errors.AsType[*rejection](spent); ok && r.resp != nil {
		return c.refusal(r, spent.Last), nil
	}
	return c.unanswered(spent.Last), nil
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// decides tells whether it is for this transport to try the request again.
func (t *Transport) decides(req *http.Request, d *dialect.Dialect) bool {
	switch {
	case t.Retry.Policy.Retries == 0:
		return false
	case req.Body != nil && req.Body != http.NoBody && req.GetBody == nil:
		return false
	case d == nil && !safe(req):
		return false
	case !t.Resent && resent(req):
		return false
	}
	return !retry.Nested(req.Context())
}

// plain tells whether a try's context may be the request's own: it ends earlier
// only where there is a Wall or a limit, and has besides that only the mark of the
// run, for which an http.Transport has no use. It saves a copy of the request.
func (t *Transport) plain() bool {
	_, ok := t.base().(*http.Transport)
	return ok && t.Retry.Policy.Deadline == 0 && t.Limits == (Limits{})
}

// resent tells whether the SDK above says that it is sending the request again.
func resent(req *http.Request) bool {
	count := req.Header[retryCount]
	return len(count) > 0 && count[0] != "0"
}

// safe tells whether a request that asks for no answer may be repeated.
func safe(req *http.Request) bool {
	return dialect.Safe(req.Method, req.URL.Path) || req.Header.Get(idempotency) != ""
}
