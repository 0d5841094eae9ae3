package server

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// reject answers a request with an error in the form that its client expects: that of its API, or ours below /-/.
func reject(w http.ResponseWriter, r *http.Request, status int, format string, args ...any) {
	if isOurs(r) {
		rest.Refuse(w, status, format, args...)
		return
	}
	kind := fault.Invalid
	switch status { // too many guesses of a token are no rate limit to the client: it has to be given another one
	case http.StatusUnauthorized:
		kind = fault.Auth
	case http.StatusForbidden:
		kind = fault.Refused
	case http.StatusServiceUnavailable:
		kind = fault.Overloaded
	}
	if kind != fault.Overloaded {
		w.Header().Set("X-Should-Retry", "false")
	}
	writeJSON(w, status, dialectOf(r).ErrorBody(&fault.Error{Kind: kind}, "ridethrough: "+fmt.Sprintf(format, args...)))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// longestRetryAfter is the longest Retry-After that a client gets: Claude Code gives up at more than a minute.
const longestRetryAfter = 59 * time.Second

func refuseUse(w http.ResponseWriter, r *http.Request, refused *tenant.Refusal) {
	wait := min(refused.Wait, longestRetryAfter)
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	writeJSON(w, http.StatusTooManyRequests, dialectOf(r).LimitBody("ridethrough: "+refused.Text))
}

func isOurs(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, "/-")
	return ok && (rest == "" || rest[0] == '/')
}

// dialectOf returns the API of a request, for an error in its form.
func dialectOf(r *http.Request) *api.API {
	return cmp.Or(registry.ErrorsOf(r.URL.Path, r.Header), openai.Chat())
}

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

// refusalExplainer is the answer to a request that has the token but no credential for the provider. It replaces
// the provider's refusal, which is about a key that the client believes it has sent.
type refusalExplainer struct {
	http.ResponseWriter
	r      *http.Request
	status int          // of a refusal; 0: no refusal
	body   bytes.Buffer // its beginning
}

func (e *refusalExplainer) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *refusalExplainer) WriteHeader(status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e.status = status
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *refusalExplainer) Write(p []byte) (int, error) {
	if e.status == 0 {
		return e.ResponseWriter.Write(p)
	}
	e.body.Write(p[:min(len(p), refusalBound-e.body.Len())])
	return len(p), nil
}

func (e *refusalExplainer) FlushError() error {
	if e.status != 0 {
		return nil
	}
	return http.NewResponseController(e.ResponseWriter).Flush()
}

// finish answers with the explanation if there was a refusal.
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
