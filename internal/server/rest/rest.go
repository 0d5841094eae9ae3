// Package rest reads the requests below /-/ and answers them in JSON, with a problem document
// or with a stream of events. It records who acts on a server, and no content: a line of the log for each action
// and, where the server has a directory, of a bounded file there.
package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/text"
)

// ActionBound is the largest body of an action, in bytes.
const ActionBound = 4 << 10

// Route is one address below /-/, as the index lists it.
type Route struct {
	Path    string           `json:"path"`
	Methods []string         `json:"methods"`
	What    string           `json:"what"`
	Serve   http.HandlerFunc `json:"-"`
	Public  bool             `json:"-"` // needs no token
}

// ReadMethods returns the methods of a route that only shows something.
func ReadMethods() []string { return []string{http.MethodGet, http.MethodHead} }

// Operation is one method of one address, described in OpenAPI.
type Operation struct {
	Method, Path string
	Name         string // its operationId
	Summary      string
	Serve        func(http.ResponseWriter, *http.Request) error
}

// Routes returns one route for each address of some operations. An error of an operation is answered with its
// problem, or logged.
func Routes(log *slog.Logger, operations []Operation) (routes []Route) {
	for _, o := range operations {
		i := slices.IndexFunc(routes, func(rt Route) bool { return rt.Path == o.Path })
		if i < 0 {
			i = len(routes)
			routes = append(routes, Route{Path: o.Path, What: o.Summary, Serve: dispatch(log, o.Path, operations)})
		} else {
			routes[i].What += "; " + o.Method + ": " + o.Summary
		}
		routes[i].Methods = append(routes[i].Methods, o.Method)
		if o.Method == http.MethodGet {
			routes[i].Methods = append(routes[i].Methods, http.MethodHead)
		}
	}
	return routes
}

// dispatch returns the handler of an address with an operation per method.
func dispatch(log *slog.Logger, path string, operations []Operation) http.HandlerFunc {
	byMethod := map[string]Operation{}
	for _, o := range operations {
		if o.Path == path {
			byMethod[o.Method] = o
		}
	}
	byMethod[http.MethodHead] = byMethod[http.MethodGet]
	return func(w http.ResponseWriter, r *http.Request) {
		if err := byMethod[r.Method].Serve(w, r); err != nil {
			WriteProblem(w, ProblemOf(log, r, err))
		}
	}
}

// Read decodes the body of a request of at most bound bytes. An empty body leaves the value zero.
func Read[T any](w http.ResponseWriter, r *http.Request, bound int64) (v T, err error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bound))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return v, Problem(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", bound)
	}
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case err != nil:
		return v, Problem(http.StatusBadRequest, "the body ended early")
	case len(text) == 0:
		return v, nil
	case kind != "application/json":
		return v, Problem(http.StatusUnsupportedMediaType, "want Content-Type: application/json")
	case !utf8.Valid(text):
		return v, Problem(http.StatusBadRequest, "the body is not valid UTF-8")
	}
	return v, Decode(text, &v)
}

// Decode reads JSON without unknown members into v.
func Decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Problem(http.StatusBadRequest, "invalid body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, more := d.Token(); more != io.EOF {
		return Problem(http.StatusBadRequest, "unexpected data after the body")
	}
	return nil
}

// Number parses a whole number that a client sends; "" is 0.
func Number(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, Problem(http.StatusBadRequest, "%s: want a whole number from 0, not %q", name, Clip(text))
	}
	return n, nil
}

// Answer writes a value as JSON.
func Answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(JSON(v), '\n')) // a client that left misses it
}

// JSON encodes a value of ours on one line.
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types can be encoded
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Clip bounds a client's text for an answer or a log.
func Clip(s string) string { return text.Clip(s, 128) }

// codes are the problem codes of statuses, for errors without their own code.
var codes = map[int]string{
	http.StatusBadRequest:            "invalid-input",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not-found",
	http.StatusMethodNotAllowed:      "method-not-allowed",
	http.StatusRequestEntityTooLarge: "too-large",
	http.StatusUnsupportedMediaType:  "unsupported-media-type",
	http.StatusMisdirectedRequest:    "misdirected",
	http.StatusUpgradeRequired:       "upgrade-required",
	http.StatusInternalServerError:   "internal",
	http.StatusServiceUnavailable:    "busy",
}

// StatusOf returns the status of the code of a problem of ours; 0: there is no such code.
func StatusOf(code string) int {
	for status, c := range codes {
		if c == code {
			return status
		}
	}
	return map[string]int{"no-fallback": http.StatusConflict}[code]
}

// Problem returns a problem with the code of its status.
func Problem(status int, format string, args ...any) *api.Problem {
	return &api.Problem{
		Title: http.StatusText(status), Status: status, Code: codes[status], Detail: fmt.Sprintf(format, args...),
	}
}

// Refuse answers a request with a problem.
func Refuse(w http.ResponseWriter, status int, format string, args ...any) {
	WriteProblem(w, Problem(status, format, args...))
}

// WriteProblem answers a request with a problem.
func WriteProblem(w http.ResponseWriter, p *api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	switch p.Code {
	case "store-full":
		w.Header().Set("Retry-After", "60")
	case "store-unavailable":
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(JSON(p), '\n')) // a client that left misses it
}

// ProblemOf returns the problem of an error. An error that the client did not cause is logged, and its text
// is not sent.
func ProblemOf(log *slog.Logger, r *http.Request, err error) *api.Problem {
	p, ok := errors.AsType[*api.Problem](err)
	if !ok {
		p = Problem(http.StatusInternalServerError, "the conversation could not be read or written; the log says more")
	}
	if p.Status == http.StatusInternalServerError {
		log.Error("conversation request failed", "method", r.Method, "path", Clip(r.URL.Path), "error", err)
	}
	return p
}
