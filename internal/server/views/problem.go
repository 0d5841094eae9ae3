package views

import (
	"errors"
	"net/http"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/store"
)

// known are the errors that have their own code.
var known = []struct {
	err    error
	status int
	code   string
}{
	{conversation.ErrNotFound, http.StatusNotFound, "not-found"},
	{store.ErrDeleted, http.StatusGone, "gone"},
	{conversation.ErrExists, http.StatusConflict, "exists"},
	{conversation.ErrInvalidText, http.StatusBadRequest, "invalid-input"},
	{conversation.ErrQueueFull, http.StatusTooManyRequests, "queue-full"},
	{store.ErrInvalid, http.StatusBadRequest, "invalid-input"},
	{conversation.ErrIdle, http.StatusConflict, "not-running"},
	{conversation.ErrNotWaiting, http.StatusConflict, "not-waiting"},
	{conversation.ErrPaused, http.StatusConflict, "paused"},
	{conversation.ErrAnswered, http.StatusConflict, "answered"},
	{conversation.ErrStopped, http.StatusConflict, "already-stopped"},
	{conversation.ErrNotQueued, http.StatusConflict, "not-queued"},
	{conversation.ErrNotAsked, http.StatusConflict, "not-asked"},
	{conversation.ErrInvalidDecision, http.StatusBadRequest, "invalid-input"},
	{store.ErrTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
	{store.ErrFull, http.StatusInsufficientStorage, "store-full"},
	{store.ErrNotOpen, http.StatusServiceUnavailable, "store-unavailable"},
	{store.ErrUnavailable, http.StatusServiceUnavailable, "store-unavailable"},
	{store.ErrClosed, http.StatusServiceUnavailable, "busy"},
}

// more are the codes of problems of conversations without such an error.
var more = map[string]int{"wrong-sequence": http.StatusConflict, "damaged": http.StatusInternalServerError}

// StatusOf returns the status of a problem's code, or 0 for an unknown code.
func StatusOf(code string) int {
	for _, k := range known {
		if k.code == code {
			return k.status
		}
	}
	return more[code]
}

// Explain adds its problem to an error of a conversation or a store. Other errors are returned unchanged.
func Explain(err error) error {
	for _, k := range known {
		if errors.Is(err, k.err) {
			return explained{err, newProblem(k.status, k.code, err)}
		}
	}
	if damage, ok := errors.AsType[*store.Damage](err); ok {
		return explained{err, newProblem(http.StatusInternalServerError, "damaged", damage)}
	}
	return err
}

func newProblem(status int, code string, err error) *api.Problem {
	return &api.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: err.Error()}
}

type explained struct {
	error
	problem *api.Problem
}

func (e explained) Unwrap() []error { return []error{e.error, e.problem} }

// Refusal returns the problem in a server's answer as an error. It matches [conversation.ErrNotFound] and the like,
// as errors in the server's process do.
func Refusal(p *api.Problem) error { return refusal{p} }

// refusal is a problem that matches the errors of its code.
type refusal struct{ *api.Problem }

func (r refusal) Unwrap() error { return r.Problem }

// Is reports whether the code is that of a conversation's or a store's error.
func (r refusal) Is(target error) bool {
	for _, k := range known {
		if k.err == target && k.code == r.Code {
			return true
		}
	}
	return false
}
