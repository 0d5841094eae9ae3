package simulator

import (
	"net/http"
	"strings"
)

// Denial is an error that a status alone does not bring about, in the vendor's
// own words.
type Denial string

// The denials. A name of a model that begins with "no-such" is one that the
// provider does not have, without a script.
const (
	TooLong Denial = "too-long" // the prompt does not fit the model
	Spent   Denial = "quota"    // the account is used up
	KeyEcho Denial = "key-echo" // 401 with the key in it
	Blocked Denial = "blocked"  // the prompt is one that the provider does not answer
	noModel Denial = "no-model"
)

// String returns the denial's word.
func (d Denial) String() string { return string(d) }

func (d Denial) play(x *exchange) {
	p := x.dialect.denial(d, x)
	if x.call.blocked = p.status == 0; x.call.blocked {
		x.answer(0)
		return
	}
	x.body(p.status, jsonMedia, x.failureOf(p))
}

// knowsNot reports whether a model's name is one that no provider has.
func knowsNot(model string) bool { return strings.HasPrefix(model, "no-such") }

// keyOf returns the key that a request came with.
func keyOf(r *http.Request) string {
	for _, name := range []string{"x-api-key", "x-goog-api-key", "Authorization"} {
		if key := r.Header.Get(name); key != "" {
			return strings.TrimPrefix(key, "Bearer ")
		}
	}
	return r.URL.Query().Get("key")
}
