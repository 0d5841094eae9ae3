package http1

import (
	"context"
	"io"
	"net/http"
)

// Observer is told when a request is sent again within one RoundTrip: it had been written to a pooled connection
// that was closed before the first byte of an answer. The server may have got it twice then.
type Observer interface{ Resent() }

type observerKey struct{}

// WithObserver returns a context whose requests an observer is told about.
func WithObserver(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// observer returns the observer of a request; nil: it has none.
func observer(req *http.Request) Observer {
	o, _ := req.Context().Value(observerKey{}).(Observer)
	return o
}

// noteResent tells the observer that a request is sent again.
func noteResent(req *http.Request) {
	if o := observer(req); o != nil {
		o.Resent()
	}
}

// sendOther sends a request with the Fallback. net/http asks for the body again only to send a request again whose
// body it has begun to send.
func (t *Transport) sendOther(req *http.Request) (*http.Response, error) {
	o, body := observer(req), req.GetBody
	if o == nil || body == nil {
		return t.fallback().RoundTrip(req)
	}
	out := req.WithContext(req.Context())
	out.GetBody = func() (io.ReadCloser, error) {
		o.Resent()
		return body()
	}
	return t.fallback().RoundTrip(out)
}
