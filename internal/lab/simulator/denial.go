package simulator

import (
	"net/http"
	"strings"
)

// Denial is an error with a cause beyond its status, in the vendor's own words.
type Denial string

// The denials. A model whose name begins with "no-such" is denied without a script.
const (
	TooLong Denial = "too-long" // the prompt does not fit the model
	Spent   Denial = "quota"    // the account's quota is exhausted
	KeyEcho Denial = "key-echo" // 401 with the key in it
	Blocked Denial = "blocked"  // the prompt violates a policy
	noModel Denial = "no-model"

	noImages Denial = "no-images" // the model takes none: it begins with "text-only"
)

// String returns the denial as Parse reads it.
func (d Denial) String() string { return string(d) }

func (d Denial) play(x *exchange) {
	p := x.dialect.denial(d, x)
	if x.call.blocked = p == nil; x.call.blocked {
		x.answer(0)
		return
	}
	x.body(p.status, jsonMedia, x.failureOf(p))
}

// isUnknown reports whether no provider has the model.
func isUnknown(model string) bool { return strings.HasPrefix(model, "no-such") }

// takesText reports whether a model takes texts only.
func takesText(model string) bool { return strings.HasPrefix(model, "text-only") }

// keyOf returns the API key of a request.
func keyOf(r *http.Request) string {
	for _, name := range []string{"x-api-key", "x-goog-api-key", "api-key", "Authorization"} {
		if key := r.Header.Get(name); key != "" {
			return strings.TrimPrefix(key, "Bearer ")
		}
	}
	return r.URL.Query().Get("key")
}
