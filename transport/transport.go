// Package transport is an [http.RoundTripper] that lets another vendor's SDK ride through its provider's
// outages. Put a [Transport] under the SDK's http.Client: it tries a request for an answer again, as the
// policy says, until its first content has come.
//
// It reads an answer ahead up to the first content. So it finds an error inside a 200 or behind a role chunk
// while the caller has seen nothing, and then replays the bytes unchanged. When it gives up it returns the
// provider's own response with X-Should-Retry: false, so that the SDK does not start over. Where no retry of
// this package was at stake, as with a 401, and where the provider has set the header, the response is as it came.
package transport

import (
	"errors"
	"net/http"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
)

// Headers of the SDKs made by Stainless (OpenAI's and Anthropic's).
const (
	shouldRetry = "X-Should-Retry"          // of a response: "false" ends the SDK's own retries
	retryCount  = "X-Stainless-Retry-Count" // of a request: how often the SDK has retried it
	idempotency = "Idempotency-Key"         // of a request: the server recognizes repetitions by it
)

// ErrRefusal is in the chain of the fault of an answer in which the model or a filter refuses.
var ErrRefusal = errors.New("the answer is a refusal")

// Transport sends requests and tries them again. The zero Transport sends each request once. It may be used
// by many goroutines at the same time if its parts may, and must not be changed meanwhile.
//
// A request is tried again if it asks for an answer, changes nothing, or carries an Idempotency-Key. It is
// sent once, and its outcome returned as it is, if its body cannot be read again (GetBody is nil), if it is
// part of a run of package retry already, or if the SDK says that it is a retry.
//
// The policy's Deadline bounds the time to the first content, not the answer.
// Limits bounds the silence of a try in both.
type Transport struct {
	Base   http.RoundTripper   // sends one try; nil: http.DefaultTransport
	Retry  retry.Retrier       // when to try again, and its hooks; zero: never, none
	Faults classify.Classifier // names the faults; zero: the built-in rules
	Limits Limits              // on each try; zero: none

	// Learned shortens Limits.FirstByte to what is usual for a request's host, model and size; nil: it stays. Model is
	// that of requests which are all for a streamed answer; "": both are read from each request.
	Learned *Learned
	Model   string

	// Breakers lets the requests to one host share its outages. Several transports
	// may have the same. nil: each request waits by itself, or at Retry.Breaker.
	Breakers *breaker.Set

	// Room holds a try back while the limits that the provider has stated leave no room for it; several transports
	// may have the same. Requests wait in turn, each flow of ratelimit.WithFlow in its order. nil: none waits.
	Room *ratelimit.Table

	// Queued is called when a request begins to wait for Room; nil: none.
	Queued func(*http.Request, ratelimit.Place)

	// Opened is called when an answer has begun to stream and its first content,
	// which may take minutes, has not come; nil: none. What has come is held back,
	// the provider's own keepalives too: a gateway must send some to its client.
	Opened func()

	// Observer sees each response before it is judged, whatever its status. It does not read the body. nil: none.
	Observer interface{ Responded(*http.Response) }

	// NoErrorLine leaves out the line that is added to a stream of lines that breaks off. That is for a
	// caller that tells its own client. False: Ollama's client, which ignores an error that ends a body, is
	// told by that line.
	NoErrorLine bool

	// CompleteText completes a streamed answer that breaks off in the middle of its text, by a second
	// request, which costs the tokens of the first again. What the model answers is used if it begins by
	// repeating the end of what it has said, as it is asked to. Else, and without CompleteText, the answer
	// ends in its error. Behind a checkpoint of Gemini's the answer is resumed there instead, whatever it is made of.
	CompleteText bool

	// Refusals makes an answer without content, in which the model or a filter refuses, a fault of kind
	// fault.Refused with ErrRefusal in its chain. That is for a caller that can ask another model. False: it is
	// an answer like others.
	Refusals bool

	// Judges makes a failure a fault even where the policy never retries. That is for a caller that can ask
	// another upstream. False: such a request is sent once, and its outcome returned as it is.
	Judges bool

	// Resent treats a request that an SDK has sent before like any other. That is for a gateway: the earlier
	// one may have ended with its last process. False: such requests are sent once.
	Resent bool

	// OwnKey adds X-Should-Retry: false where the key is refused too. That is for a proxy that has put its own key into
	// the request. False: the client may renew its key, and is not kept from sending the request with that.
	OwnKey bool

	// Relays returns the last response as it came, without X-Should-Retry, and the error of a try that had
	// none. That is for a proxy whose client has retries of its own. False: they end here.
	Relays bool
}

// RoundTrip sends the request until it is answered, the policy gives up, or the request's context ends: then
// the error is context.Cause of that context. When the policy gives up, it returns the last response: one with
// status 408, 409, 429, 5xx or for an empty account has X-Should-Retry: false, unless the provider has set
// the header. Without one it returns a 503 with the reason in its body, since an error would make
// the SDKs start over. Relays changes both. An error that came with status 200, and not as a stream, gets the
// status of its fault.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	d := registry.Of(req.Method, req.URL.Path)
	if !t.retries(req, d) {
		return t.sendOnce(req, d)
	}
	c := t.newCall(req, d)
	resp, err := c.run()
	if c.sent == 0 && req.Body != nil {
		_ = req.Body.Close() // no try has done so
	}
	if err == nil {
		return c.complete(resp), nil
	}
	return c.givenUp(err)
}

// newCall returns a request that may be tried again.
func (t *Transport) newCall(req *http.Request, d *api.API) *call {
	return &call{Transport: t, req: req, dialect: d, limits: t.limits(req, d), room: t.newRoom(req, d)}
}

// run tries the request until it is answered.
func (c *call) run() (*http.Response, error) {
	if c.Breakers != nil && c.Retry.Breaker == nil {
		return c.runWithBreaker()
	}
	ctx, try := c.req.Context(), c.try // first, so that there is one copy of Retry
	return retry.Do(ctx, c.Transport.Retry, try)
}

// runWithBreaker is run with the breaker of the request's host.
func (c *call) runWithBreaker() (*http.Response, error) {
	retrier, leave := c.retrier()
	defer leave()
	return retry.Do(c.req.Context(), retrier, c.try)
}

// givenUp returns the response of a run without an answer, or its error.
func (c *call) givenUp(err error) (*http.Response, error) {
	end, gaveUp := errors.AsType[*retry.Error](err)
	if !gaveUp || end.Last == nil {
		return nil, err
	}
	if r, ok := errors.AsType[*rejection](end); ok && r.resp != nil {
		return c.rejected(r, end.Last), nil
	}
	if c.Relays {
		return nil, end.Last
	}
	return c.unanswered(end.Last), nil
}

// retrier returns the retrier for a request. leave has to be called after the run.
func (c *call) retrier() (r retry.Retrier, leave func()) {
	r, leave = c.Retry, func() {}
	if c.Breakers != nil && r.Breaker == nil {
		caller := c.caller(c.req, c.dialect)
		r.Breaker, leave = caller, caller.Close
	}
	return r, leave
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// observed tells the Observer of a response, and returns what it is given.
func (t *Transport) observed(resp *http.Response, err error) (*http.Response, error) {
	if t.Observer != nil && resp != nil {
		t.Observer.Responded(resp)
	}
	return resp, err
}

// retries reports whether the request may be tried again here.
func (t *Transport) retries(req *http.Request, d *api.API) bool {
	switch {
	case t.Retry.Policy.Retries == 0 && !t.Judges:
		return false
	case req.Body != nil && req.Body != http.NoBody && req.GetBody == nil:
		return false
	case d == nil && !repeatable(req):
		return false
	case !t.Resent && resent(req):
		return false
	}
	return !retry.Nested(req.Context())
}

// sharesContext reports whether a try may have the request's own context, which saves a copy of the request.
// A try's context ends earlier only with a Deadline or a limit; the mark of the run, which it has besides, is
// of no use to an http.Transport.
func (t *Transport) sharesContext() bool {
	_, ok := t.base().(*http.Transport)
	return ok && t.Retry.Policy.Deadline == 0 && t.Limits == (Limits{}) && t.Learned == nil
}

// resent reports whether the SDK says that it has sent the request before.
func resent(req *http.Request) bool {
	count := req.Header[retryCount]
	return len(count) > 0 && count[0] != "0"
}

// repeatable reports whether a request that asks for no answer may be repeated.
func repeatable(req *http.Request) bool {
	return api.Safe(req.Method, req.URL.Path) || req.Header.Get(idempotency) != ""
}
