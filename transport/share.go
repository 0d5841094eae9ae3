package transport

import (
	"io"
	"net/http"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

// modelWithin is how much of a request is read to learn which model it is for.
// SDKs name it first or nearly so.
const modelWithin = 4 << 10

// place gives the request its place at the gate of its upstream.
func (t *Transport) place(req *http.Request, d *dialect.Dialect) *breaker.Caller {
	return t.Breakers.Of(req.URL.Scheme + "://" + req.URL.Host).Caller(breaker.Scope{Model: model(req, d), Credential: breaker.Credential(req.Header, req.URL)})
}

// model gives the model that a request is for; "": nobody can tell.
func model(req *http.Request, d *dialect.Dialect) string {
	if d == nil || req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	begin := make([]byte, modelWithin)
	n, _ := io.ReadFull(body, begin)
	return d.Read(req.URL, begin[:n]).Model
}
