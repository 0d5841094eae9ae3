package transport

import (
	"net/http"

	"github.com/ridethrough/ridethrough/internal/preamble"
)

// roundTrip sends a request. Where the layer that waits for it is known, a gateway of this project may hold it, and
// tells that layer why; meanwhile the limit on the first byte does not count.
func (t *Transport) roundTrip(req *http.Request, w *watchdog) (*http.Response, error) {
	if caller := preamble.From(req.Context()); caller != nil {
		return caller.Send(t.base(), req, w.hold)
	}
	return t.base().RoundTrip(req)
}
