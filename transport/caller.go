package transport

import (
	"io"
	"net/http"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/api"
)

// modelPrefix is how much of a request is read to find its model, which SDKs name
// first or nearly so.
const modelPrefix = 4 << 10

// caller returns the request's place at the breaker of its upstream.
func (t *Transport) caller(req *http.Request, d *api.API) *breaker.Caller {
	b := t.Breakers.Of(req.URL.Scheme + "://" + req.URL.Host)
	return b.Caller(breaker.Scope{Model: parse(req, d).Model, Credential: breaker.Credential(req.Header, req.URL)})
}

// limits returns those of the tries of a request.
func (t *Transport) limits(req *http.Request, d *api.API) Limits {
	l := t.Limits
	if t.Learned == nil || d == nil {
		return l
	}
	model := t.Model
	if model == "" {
		asked := parse(req, d)
		if model = asked.Model; asked.Form == api.JSON {
			return l
		}
	}
	l.learned = t.Learned.of(LearnedKind{req.URL.Host, model}, req.ContentLength)
	return l
}

// parse returns the model and the form that a request is for; zero: it cannot be read.
func parse(req *http.Request, d *api.API) (asked api.Request) {
	if d == nil || req.GetBody == nil {
		return asked
	}
	body, err := req.GetBody()
	if err != nil {
		return asked
	}
	defer body.Close()
	begin := make([]byte, modelPrefix)
	n, _ := io.ReadFull(body, begin)
	return d.Read(req.URL, begin[:n])
}
