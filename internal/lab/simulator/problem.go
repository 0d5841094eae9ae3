package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
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

	noImages  Denial = "no-images"  // the model takes none: it begins with "text-only"
	noPrefill Denial = "no-prefill" // the model does not continue a turn of its own
)

// String returns the denial as Parse reads it.
func (d Denial) String() string { return string(d) }

func (d Denial) play(x *exchange) {
	p := x.denied(d)
	if x.call.blocked = p == nil; x.call.blocked {
		x.answer(0)
		return
	}
	x.body(p.Status, jsonMedia, x.failureOf(p))
}

// problem is the content of an error.
type problem struct {
	Status              int
	Kind, Code, Message string          // "": the vendor's usual one
	Param               string          // "": none
	Details, Body       json.RawMessage // where the vendor has such a member; all of the body, where it is another than usual

	wait time.Duration // Retry-After; 0: none
}

// bad returns the error of an invalid request.
func bad(message string, args ...any) *problem {
	return &problem{Status: http.StatusBadRequest, Message: fmt.Sprintf(message, args...)}
}

// about returns the problem with its parameter.
func (p *problem) about(param string, args ...any) *problem {
	p.Param = fmt.Sprintf(param, args...)
	return p
}

// problemOf returns the error that a vendor's file has by a name, or nil.
func problemOf(forms api.Forms, name string, replace ...string) *problem {
	if forms[name] == nil || forms[name][0] == "${}" {
		return nil
	}
	for i := 1; i < len(replace); i += 2 { // it becomes part of a text
		replace[i] = strings.Trim(string(api.Quote(replace[i])), `"`)
	}
	var p problem
	if err := json.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(forms[name][0])), &p); err != nil {
		panic(fmt.Errorf("%s: %w", name, err)) // it is part of the program
	}
	p.Status = cmp.Or(p.Status, http.StatusBadRequest)
	return &p
}

// or returns the problem with what is usual for its status where it says nothing of its own. The errors of 400 and 500
// stand for the other statuses from there, and that of 503 for 529.
func (p problem) or(forms api.Forms) problem {
	base := http.StatusBadRequest
	if p.Status >= http.StatusInternalServerError {
		base = http.StatusInternalServerError
	}
	names := []string{strconv.Itoa(p.Status), strconv.Itoa(base)}
	switch {
	case p.Status == 529:
		names = []string{"529", "503", "500"}
	case p.wait > 0:
		names = append([]string{names[0] + " wait"}, names...)
	}
	for _, name := range names {
		if usual := problemOf(forms, name, "{wait}", strconv.Itoa(int(p.wait/time.Second))); usual != nil {
			if p.Message == "" && p.Body == nil {
				p.Message, p.Details, p.Body = usual.Message, usual.Details, usual.Body
			}
			p.Kind, p.Code = cmp.Or(p.Kind, usual.Kind), cmp.Or(p.Code, usual.Code)
			return p
		}
	}
	return p
}

// values are what the forms of errors have, as JSON; what is "" is left out.
func (p problem) values() map[string]string {
	all := map[string]string{"http-status": strconv.Itoa(p.Status), "error-details": ""}
	if p.Details != nil {
		all["error-details"] = `,"details":` + string(p.Details)
	}
	for name, value := range map[string]string{"kind": p.Kind, "message": p.Message, "code": p.Code, "param": p.Param} {
		all[name] = string(api.Quote(value))
	}
	return all
}

// own returns the name of what the endpoint's API has apart from the vendor's others, or the name as it is.
func (x *exchange) own(name string) string {
	if own := name + " " + x.endpoint.api.Name(); x.forms[own] != nil {
		return own
	}
	return name
}

// overload returns the status of an overloaded provider.
func (x *exchange) overload() int {
	if x.forms["overload"] != nil {
		return 529
	}
	return http.StatusServiceUnavailable
}

// denied returns the error of a denial, or nil if the vendor has no such error.
func (x *exchange) denied(d Denial) *problem {
	return problemOf(x.forms, x.own(string(d)), "{key}", keyOf(x.r), "{model}", x.call.model)
}

// failureOf returns the body of an error, and sets the header with its type.
func (x *exchange) failureOf(p *problem) string {
	forms := x.forms
	if x.dialect.fails != nil {
		forms = x.dialect.fails(p.Status)
	}
	full := p.or(forms)
	x.headers("error header", "{kind}", full.Kind)
	if full.Body != nil {
		return string(full.Body)
	}
	head := x.head()
	head.More = full.values()
	return forms.Encoder(api.JSON, head).Whole("failure")
}

// failure returns the body of an error with the vendor's usual message. It repeats
// Retry-After where the dialect has a member for it.
func (x *exchange) failure(status int) string {
	seconds, _ := strconv.ParseUint(x.w.Header().Get("Retry-After"), 10, 32) // 0 for a date or none
	return x.failureOf(&problem{Status: status, wait: time.Duration(seconds) * time.Second})
}

// keyOf returns the API key of a request.
func keyOf(r *http.Request) string {
	for _, name := range []string{"x-api-key", "x-goog-api-key", "api-key", "Authorization"} {
		if key := r.Header.Get(name); key != "" {
			return strings.TrimPrefix(key, "Bearer ")
		}
	}
	return r.URL.Query().Get("key")
}
