package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/ridethrough/ridethrough/internal/server/api"
)

// codes are the problem codes of statuses, for errors without a code of their own.
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
