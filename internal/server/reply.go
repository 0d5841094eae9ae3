package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

// answer writes a value as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(v), '\n')) // a client that has left misses it
}

// encode gives the JSON of a value of ours on one line.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types have a form
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// reject answers a request with an error in the form that it expects: its
// API's, or ours below /-/.
func reject(w http.ResponseWriter, r *http.Request, status int, format string, args ...any) {
	if ours(r) {
		refuse(w, status, format, args...)
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
	_, _ = w.Write(spoken(r).ErrorBody(&fault.Error{Kind: kind}, "ridethrough: "+fmt.Sprintf(format, args...)))
}

// ours tells whether a request is for what is below /-/.
func ours(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, "/-")
	return ok && (rest == "" || rest[0] == '/')
}

// spoken guesses the API that a request speaks, for an error in its form.
func spoken(r *http.Request) *dialect.Dialect {
	if d := dialect.Of(http.MethodPost, r.URL.Path); d != nil {
		return d
	}
	if r.Header.Get("Anthropic-Version") != "" {
		return dialect.Anthropic()
	}
	return dialect.OpenAIChat()
}
