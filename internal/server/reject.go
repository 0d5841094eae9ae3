package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// reject answers a request with an error in the form that its client expects: that of its API, or ours below
// /-/.
func reject(w http.ResponseWriter, r *http.Request, status int, format string, args ...any) {
	if isOurs(r) {
		rest.Refuse(w, status, format, args...)
		return
	}
	kind := fault.Invalid
	switch status {
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(dialectOf(r).ErrorBody(&fault.Error{Kind: kind}, "ridethrough: "+fmt.Sprintf(format, args...)))
}

// isOurs reports whether a request is for /-/.
func isOurs(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, "/-")
	return ok && (rest == "" || rest[0] == '/')
}

// dialectOf guesses the API of a request, for an error in its form.
func dialectOf(r *http.Request) *dialect.Dialect {
	if d := dialect.Of(http.MethodPost, r.URL.Path); d != nil {
		return d
	}
	if r.Header.Get("Anthropic-Version") != "" {
		return dialect.Anthropic()
	}
	return dialect.OpenAIChat()
}
