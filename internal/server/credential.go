package server

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/operation/access"
)

// hasNoCredential reports whether a request has no credential for a provider, or had the token in its place.
func hasNoCredential(r *http.Request) bool {
	for _, name := range keyHeaders {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	return len(r.Header[authorization]) == 0 && !strings.Contains(r.URL.RawQuery, "key=")
}

// refusalBound is how much of a provider's refusal is kept, in bytes.
const refusalBound = 16 << 10

// refusalExplainer is the answer to a request with the token and without a credential for the provider. It
// replaces the provider's refusal, which is about a key that the client believes it has sent.
type refusalExplainer struct {
	http.ResponseWriter
	r      *http.Request
	status int          // of a refusal; 0: there is none
	body   bytes.Buffer // its beginning
}

// Unwrap is for http.ResponseController.
func (e *refusalExplainer) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// WriteHeader passes on other answers than refusals.
func (e *refusalExplainer) WriteHeader(status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e.status = status
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

// Write passes on other answers than refusals.
func (e *refusalExplainer) Write(p []byte) (int, error) {
	if e.status == 0 {
		return e.ResponseWriter.Write(p)
	}
	e.body.Write(p[:min(len(p), refusalBound-e.body.Len())])
	return len(p), nil
}

// FlushError flushes other answers than refusals.
func (e *refusalExplainer) FlushError() error {
	if e.status != 0 {
		return nil
	}
	return http.NewResponseController(e.ResponseWriter).Flush()
}

// finish answers with the explanation, if there was a refusal.
func (e *refusalExplainer) finish() {
	if e.status == 0 {
		return
	}
	h := e.Header()
	f := classify.FromResponse(e.status, h, e.body.Bytes(), time.Now())
	h.Del("Content-Length")
	h.Del("Content-Encoding")
	reject(e.ResponseWriter, e.r, e.status, "the provider refused the request (%s); it had no credential but this gateway's token, which is not forwarded: "+
		"configure a key for the upstream, or send the provider's key as usual and the token as %s", f.Redacted(), access.Header)
}
