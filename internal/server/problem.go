package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/store"
)

// problem is an error of what is below /-/, in the form of RFC 9457. Its type
// is about:blank, which is left out; programs go by the code.
type problem struct {
	Title  string `json:"title"` // the status in words
	Status int    `json:"status"`
	Code   string `json:"code"`   // the same in all versions
	Detail string `json:"detail"` // for people
}

func (p *problem) Error() string { return p.Detail }

// codes are those of errors that need none of their own.
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

// wrong makes a problem with the code that goes with its status.
func wrong(status int, format string, args ...any) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Code: codes[status], Detail: fmt.Sprintf(format, args...)}
}

// refuse answers a request below /-/ with a problem.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	wrong(status, format, args...).serve(w)
}

func (p *problem) serve(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Code == "store-full" {
		w.Header().Set("Retry-After", "60")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(encode(p), '\n')) // a client that has left misses it
}

// problems are what errors of conversations mean to a client.
var problems = []struct {
	err    error
	status int
	code   string
}{
	{conversation.ErrNone, http.StatusNotFound, "not-found"},
	{store.ErrDeleted, http.StatusGone, "gone"},
	{conversation.ErrExists, http.StatusConflict, "exists"},
	{conversation.ErrText, http.StatusBadRequest, "invalid-input"},
	{conversation.ErrMany, http.StatusTooManyRequests, "queue-full"},
	{store.ErrInvalid, http.StatusBadRequest, "invalid-input"},
	{conversation.ErrIdle, http.StatusConflict, "not-running"},
	{conversation.ErrAnswered, http.StatusConflict, "answered"},
	{conversation.ErrStopped, http.StatusConflict, "already-stopped"},
	{conversation.ErrInput, http.StatusConflict, "not-queued"},
	{store.ErrTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
	{store.ErrFull, http.StatusServiceUnavailable, "store-full"},
	{store.ErrClosed, http.StatusServiceUnavailable, "busy"},
}

// problemOf gives what an error means to a client. One that is nobody's fault
// out there is logged, and its words stay here.
func (s *Server) problemOf(r *http.Request, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	for _, known := range problems {
		if errors.Is(err, known.err) {
			return &problem{Title: http.StatusText(known.status), Status: known.status, Code: known.code, Detail: err.Error()}
		}
	}
	s.config.Log.Error("answering for a conversation", "method", r.Method, "path", clip(r.URL.Path), "error", err)
	p := wrong(http.StatusInternalServerError, "the conversation could not be read or written; the log says more")
	if damage, ok := errors.AsType[*store.Damage](err); ok {
		p.Code, p.Detail = "damaged", damage.Error()
	}
	return p
}
