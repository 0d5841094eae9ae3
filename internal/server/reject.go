package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
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

// writeJSON answers with a body.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// longestRetryAfter is the longest wait that a client is asked for: Claude Code gives up at more than a minute.
const longestRetryAfter = 59 * time.Second

// refuseUse answers a request that is beyond a limit of its token.
func refuseUse(w http.ResponseWriter, r *http.Request, refused *tenant.Refusal) {
	wait := min(refused.Wait, longestRetryAfter)
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	writeJSON(w, http.StatusTooManyRequests, dialectOf(r).LimitBody("ridethrough: "+refused.Text))
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
