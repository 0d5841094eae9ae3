package gateway

import (
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// errorEvent is a dialect's way to end a stream with an error, such as [api.API.FinalEvent].
type errorEvent func(c api.Client, f api.Form, e *fault.Error, message string, within bool) (event []byte, cut bool)

// endStream sends an error event to a client that has the headers.
func (c *call) endStream(as errorEvent, f *fault.Error, text string) {
	c.pause() // nothing of the answer may have been sent since the keepalive began
	client, _ := c.clientOfEnd()
	event, cut := as(client, c.form, f, text, c.completion.answering)
	switch {
	case event == nil || c.write(event, clientStallTimeout) != nil:
		c.cut()
	case cut:
		c.cutAfterEvent()
	}
}

// clientOfEnd identifies the client for the end of its stream; last: that is the last word, as no other try follows.
func (c *call) clientOfEnd() (client api.Client, last bool) {
	if c.outcome.Verdict.Stop != "" {
		return c.lastClient(), true
	}
	return c.client(), false
}

// endFailed ends a stream whose client has been sent the provider's own error as one with an error of the gateway's:
// the clients that see no error in a stream see none in the provider's.
func (c *call) endFailed(body io.Reader) {
	w, watched := body.(transport.Watched)
	if !watched || w.Failure() == nil {
		return
	}
	client, last := c.clientOfEnd()
	if c.dialect.CutsAfterError(client, w.Form(), last) {
		c.cutAfterEvent()
	}
}

// cutAfterEvent cuts the client's connection after an event that it is to see.
func (c *call) cutAfterEvent() {
	if passesProxy(c.r) {
		_ = retry.Sleep(c.r.Context(), lastEventTime)
	}
	c.cut()
}

// lastEventTime is how long a connection stays open after its last event. Varnish, nghttpx, Traffic Server and HTTP/2 of
// Apache do not pass on what comes together with the cut, and a reset overtakes what has not been read.
const lastEventTime = 300 * time.Millisecond

// proxyHeaders are those that proxies add to a request. No one of them is sent by all of the above.
var proxyHeaders = []string{"Via", "X-Forwarded-For", "Forwarded"}

// passesProxy reports whether there is a proxy between a client and the gateway. nginx, at its defaults, adds nothing
// and speaks HTTP/1.0.
func passesProxy(r *http.Request) bool {
	return !r.ProtoAtLeast(1, 1) || slices.ContainsFunc(proxyHeaders, func(name string) bool { return r.Header[name] != nil })
}

// cut closes the client's connection: a clean end would look like a whole answer.
func (c *call) cut() {
	c.status = 0
	panic(http.ErrAbortHandler)
}
