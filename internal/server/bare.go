package server

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault/classify"
)

// bare tells whether a request brings no credential for a provider: it has
// none, or the token stood in its place.
func bare(r *http.Request) bool {
	for _, name := range keyHeaders {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	return len(r.Header[authorization]) == 0 && !strings.Contains(r.URL.RawQuery, "key=")
}

// refusalBound is how much of a provider's refusal is read, in bytes.
const refusalBound = 16 << 10

// explainer is the answer to a request that brought the token and no
// credential for a provider. Where a provider refuses that, it says why: the
// provider's own words are about a key that the client believes it has sent.
type explainer struct {
	http.ResponseWriter
	r      *http.Request
	status int          // of a refusal; 0: it is none
	body   bytes.Buffer // its beginning
}

// Unwrap is for http.ResponseController.
func (e *explainer) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// WriteHeader passes on what is no refusal.
func (e *explainer) WriteHeader(status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e.status = status
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

// Write passes on what is no refusal.
func (e *explainer) Write(p []byte) (int, error) {
	if e.status == 0 {
		return e.ResponseWriter.Write(p)
	}
	e.body.Write(p[:min(len(p), refusalBound-e.body.Len())])
	return len(p), nil
}

// FlushError sends what is no refusal.
func (e *explainer) FlushError() error {
	if e.status != 0 {
		return nil
	}
	return http.NewResponseController(e.ResponseWriter).Flush()
}

// end answers with the refusal, if there was one.
func (e *explainer) end() {
	if e.status == 0 {
		return
	}
	h := e.Header()
	f := classify.FromResponse(e.status, h, e.body.Bytes(), time.Now())
	h.Del("Content-Length")
	h.Del("Content-Encoding")
	reject(e.ResponseWriter, e.r, e.status, "the provider refuses the request (%s); it brought no credential but this gateway's token, which goes no further: "+
		"give the upstream a key of its own, or send the provider's key as usual and the token as %s", f.Redacted(), tokenHeader)
}
