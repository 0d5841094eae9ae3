package transport

import (
	"io"
	"net/http"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

// modelPrefix is how much of a request is read to find its model, which SDKs name
// first or nearly so.
const modelPrefix = 4 << 10

// caller returns the request's place at the breaker of its upstream.
func (t *Transport) caller(req *http.Request, d *dialect.Dialect) *breaker.Caller {
	b := t.Breakers.Of(req.URL.Scheme + "://" + req.URL.Host)
	return b.Caller(breaker.Scope{Model: modelOf(req, d), Credential: breaker.Credential(req.Header, req.URL)})
}

// modelOf returns the model that a request is for; "": it cannot be read.
func modelOf(req *http.Request, d *dialect.Dialect) string {
	if d == nil || req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	begin := make([]byte, modelPrefix)
	n, _ := io.ReadFull(body, begin)
	return d.Read(req.URL, begin[:n]).Model
}
